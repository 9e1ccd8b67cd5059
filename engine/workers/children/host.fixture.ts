/** A gateway's main thread, as far as child processes go: it starts one server and waits to be killed. */
import { ChildrenOfWorker } from './client.ts'
import { ChildHub } from './hub.ts'

const args = process.argv.slice(2)
const hub: ChildHub = new ChildHub({ log: () => undefined, post: (_worker, report) => children.receive(report) })
const children: ChildrenOfWorker = new ChildrenOfWorker((order) => hub.receive(0, order))
const spec = { backend: 'b', target: 't', cmd: process.execPath, args, env: {}, cwd: null }
children.open('k', { ...spec, lineBytesMax: 1024, idleMs: 0 }, null).request(
  { text: '{"jsonrpc":"2.0","method":"initialize"}', id: 1, progressToken: null, isInitialize: true },
  {
    message: () => undefined,
    answered: () => process.stdout.write('started\n'),
    failed: (failure) => process.stdout.write(`${failure.message}\n`)
  }
)
setInterval(() => undefined, 1000)
