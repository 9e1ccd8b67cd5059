/**
 * The gateway as a process whose memory is looked at. Its serving stack runs in the main thread, whose garbage can be
 * collected on demand (--expose-gc): what the heap holds from one look to the next is what was kept, not what is due.
 */
import { setTimeout as after } from 'node:timers/promises'
import { queryObjects } from 'node:v8'
import { HeaderBlock } from '#engine/http/headers.ts'
import { startGateway } from '#engine/testing/gateway.ts'

export interface SoakArgs {
  readonly configuration: object
  /** Kept per request, to show that the soak sees it; 0: nothing. */
  readonly leakBytes: number
}

/** What the process holds at one moment, its garbage collected. */
export interface Look {
  readonly rssBytes: number
  /** Objects of the heap, and what they hold outside of it. */
  readonly heapBytes: number
  /** Connections to clients and to providers. */
  readonly sockets: number
  /** Also those that would not keep the process alive. */
  readonly timers: number
}

const collect = globalThis.gc

/** What is kept must be reachable from here. */
const kept: string[] = []

function leak(bytes: number): void {
  const { lines } = HeaderBlock.prototype
  HeaderBlock.prototype.lines = function (this: HeaderBlock): string {
    if (this.text.startsWith('POST ')) kept.push(Buffer.alloc(bytes, 'x').toString('latin1'))
    return lines.call(this)
  }
}

const one = setTimeout(() => {}, 0)
clearTimeout(one)
const Timer = one.constructor

/** The client closes what it has open at the end of a part: the news of it takes so long at most. */
const NEWS_MS = 50

async function look(): Promise<Look> {
  await after(NEWS_MS)
  // Twice: finalisers of the first let go of more.
  for (let i = 0; i < 2; i++) collect!()
  const { rss, heapUsed, external } = process.memoryUsage()
  const sockets = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
  return { rssBytes: rss, heapBytes: heapUsed + external, sockets, timers: queryObjects(Timer, { format: 'count' }) }
}

/** Serves until the soak disconnects. Every message asks for a look. */
async function serve({ configuration, leakBytes }: SoakArgs): Promise<void> {
  if (collect === undefined) throw new Error('the soak needs --expose-gc')
  if (leakBytes > 0) leak(leakBytes)
  const { port } = await startGateway(JSON.stringify(configuration))
  process.on('message', async () => process.send!(await look()))
  process.on('disconnect', () => process.exit(0))
  process.send!({ port })
}

if (import.meta.main) await serve(JSON.parse(process.argv[2]!) as SoakArgs)
