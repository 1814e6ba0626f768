// An app on Slack's own JavaScript SDKs: echoes what it hears, offers a button, answers presses and commands.
// Arguments: base URL of the Web API, bot token, app token. Prints one JSON line per thing that happened.
const { WebClient } = require('@slack/web-api');
const { SocketModeClient } = require('@slack/socket-mode');

const [slackApiUrl, botToken, appToken] = process.argv.slice(2);
const silent = { debug() {}, info() {}, warn() {}, error() {}, setLevel() {}, getLevel: () => 'error', setName() {} };
const web = new WebClient(botToken, { slackApiUrl, logger: silent });
const socket = new SocketModeClient({
  // also the pause before a reconnection, so not the usual five seconds
  appToken, logger: silent, clientPingTimeout: 3000, clientOptions: { slackApiUrl, logger: silent },
});
const tell = (what, data = {}) => process.stdout.write(`${JSON.stringify({ what, ...data })}\n`);

socket.on('connected', () => tell('connected'));
socket.on('message', async ({ event, body, ack, retry_num, retry_reason }) => {
  if (event.bot_id || event.subtype) return ack();
  await ack();
  tell('message', { text: event.text, event_id: body.event_id, retry_num, retry_reason });
  const elements = [{ type: 'button', text: { type: 'plain_text', text: 'Press' }, action_id: 'press', value: event.ts }];
  return web.chat.postMessage({
    channel: event.channel,
    text: `echo: ${event.text}`,
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: `echo: ${event.text}` } },
      { type: 'actions', elements },
    ],
    metadata: { event_type: 'echo', event_payload: { of: event.ts } },
  });
});
socket.on('interactive', async ({ body, ack }) => {
  await ack();
  if (body.type === 'view_submission') {
    return tell('submitted', { callback_id: body.view.callback_id, values: body.view.state.values });
  }
  tell('interactive', { type: body.type, value: body.actions[0].value });
  const input = { type: 'plain_text_input', action_id: 'words' };
  await web.views.open({ trigger_id: body.trigger_id, view: {
    type: 'modal', callback_id: 'form', title: { type: 'plain_text', text: 'Form' },
    submit: { type: 'plain_text', text: 'Send' },
    blocks: [{ type: 'input', block_id: 'said', label: { type: 'plain_text', text: 'Said' }, element: input }],
  } });
  await web.chat.update({ channel: body.channel.id, ts: body.message.ts, text: `pressed by ${body.user.id}` });
});
socket.on('slash_commands', ({ body, ack }) => ack({ text: `you said ${body.text}` }));
process.on('SIGTERM', async () => { await socket.disconnect(); process.exit(0); });
socket.start();
