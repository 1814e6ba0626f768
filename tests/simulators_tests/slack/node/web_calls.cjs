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
    buffer_size: 1, // each piece is sent at once
  });
  await stream.append({ markdown_text: '**s' });
  await stream.append({ markdown_text: 'tr' });
  await call('stream', () => stream.stop({ markdown_text: 'eam**' }));
  const opened = await call('opened', () => web.conversations.open({ users: user }));
  await call('direct', () => web.chat.postMessage({ channel: opened.channel.id, text: 'in private' }));
  await call('joined', () => web.users.conversations({ types: 'im,public_channel', exclude_archived: true }));
  await call('reply', () => web.chat.postMessage({ channel, thread_ts: sent.ts, text: 'below' }));
  await call('replies', () => web.conversations.replies({ channel, ts: sent.ts, oldest: sent.ts }));
  await call('aside', () => web.chat.postEphemeral({ channel, user, text: 'for you alone' }));
  await call('deleted', () => web.chat.delete({ channel, ts: answers.reply.ts }));
  await call('gone', () => web.chat.delete({ channel, ts: answers.reply.ts }));
  await call('unfiled', () => web.files.delete({ file: answers.upload.files[0].files[0].id }));
  process.stdout.write(JSON.stringify(answers));
})();
