/** The worker that has the sessions, in a thread of its own: `block` holds it until its gate opens. */
import { parentPort, workerData } from 'node:worker_threads'
import { OwnerRequests } from '#backends/mcp/bridge/owner-requests.ts'
import { type Claim, takerOf } from '#engine/kit/claim.ts'
import { Bus } from './bus.ts'
import { RemoteRequests } from './remote-requests.ts'

const { channel, gate } = workerData as { channel: string; gate: Claim }
const port = parentPort!
const bus = new Bus(channel, { index: 1, count: 2 })
const begun: string[] = []
const ownerRequests = new OwnerRequests(bus, new RemoteRequests(bus))
ownerRequests.serve(
  'b',
  new Map([
    [
      'bank',
      (_options, message, events) => {
        begun.push(String(message.params?.name))
        events.answered({ jsonrpc: '2.0', id: message.id, result: { begun } })
        return () => undefined
      }
    ]
  ])
)
port.on('message', () => {
  port.postMessage('blocked')
  while (takerOf(gate) === null);
})
port.postMessage('ready')
