// One call after another on Slack's own JavaScript SDK; prints what each answered or how it was refused.
// Arguments: base URL of the Web API, bot token, a channel, a person.
const { WebClient } = require('@slack/web-api');

const [slackApiUrl, token, channel, user] = process.argv.slice(2);
const silent = { debug() {}, info() {}, warn() {}, error() {}, setLevel() {}, getLevel: () => 'error', setName() {} };
const web = new WebClient(token, { slackApiUrl, logger: silent, rejectRateLimitedCalls: true, retryConfig: { retries: 0 } });
const answers = {};
async function call(name, make) {
  try {
    answers[name] = await make();
  } catch (error) {
    answers[name] = { code: error.code, retryAfter: error.retryAfter, ...error.data };
  }
  return answers[name];
}

(async () => {
  await call('auth', () => web.auth.test());
  const sent = await call('post', () => web.chat.postMessage({
    channel, text: 'a < b', metadata: { event_type: 't', event_payload: { n: 1 } },
  }));
  await call('update', () => web.chat.update({ channel, ts: sent.ts, text: 'changed' }));
  await call('history', () => web.conversations.history({ channel, include_all_metadata: true }));
  await call('blocks', () => web.chat.postMessage({
    channel, text: 'x', blocks: [{ type: 'section', text: { type: 'mrkdwn', text: 'x'.repeat(3001) } }],
  }));
  await call('unknown', () => web.chat.postMessage({ channel: 'C0NONE', text: 'x' }));
  await call('limited', () => web.users.info({ user }));
  await call('upload', () => web.filesUploadV2({
    channel_id: channel, filename: 'a.txt', file: Buffer.from('hello'), initial_comment: 'see',
  }));
  const stream = web.chatStream({
    channel, thread_ts: sent.ts, recipient_team_id: answers.auth.team_id, recipient_user_id: user,
  });
  await stream.append({ markdown_text: '**str' });
  await call('stream', () => stream.stop({ markdown_text: 'eam**' }));
  process.stdout.write(JSON.stringify(answers));
})();
