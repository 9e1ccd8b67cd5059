/**
 * The gateway as a process whose scavenges are counted. Its serving stack runs in the main thread:
 * V8 fixes the size of the young generation by process flags, while a worker's resourceLimits only
 * bound it from above, and the heap grows towards the bound when it likes.
 */
import { GCProfiler } from 'node:v8'
import { HeaderBlock } from '#engine/http/headers.ts'

/** What engine/testing/gateway.ts offers: the serving stack of one worker in the calling thread. */
export type StartGateway = (
  yamlText: string,
  options?: { readonly keepSpend?: () => void }
) => Promise<{ port: number; close(): Promise<void> }>

/** Garbage added per request, to show that the gate sees it; `none` is the control of that experiment. */

export type Extra = 'none' | 'closure' | 'promise'

export interface SubjectArgs {
  /** URL of a module that exports startGateway. */
  readonly module: string
  /** Of the gateway. */
  readonly config: object
  /** Records of model calls are made, as for the spend log. */
  readonly keepsSpend: boolean
  /** Null: the gateway as it is. */
  readonly extra: Extra | null
}

/** What is allocated must be reachable from here, or the compiler leaves the allocation out. */
export let kept: unknown = null

const ALLOCATE: { [extra in Extra]: (block: HeaderBlock) => void } = {
  none() {},
  closure(block) {
    kept = () => block
  },
  promise(block) {
    kept = Promise.resolve(block.count)
  }
}

/** Once per request: when the request's header section is forwarded. */
function addGarbage(extra: Extra): void {
  const { lines } = HeaderBlock.prototype
  const allocate = ALLOCATE[extra]
  HeaderBlock.prototype.lines = function (this: HeaderBlock): string {
    if (this.text.startsWith('GET ')) allocate(this)
    return lines.call(this)
  }
}

/** Garbage since the last count. */
export interface Garbage {
  readonly scavenges: number
  /** Bytes allocated on the JS heap, collected or not. */
  readonly bytes: number
  /** Time of the process on processors, and how much of it was its own: the system's varies with what else runs. */
  readonly cpuMs: number
  readonly userMs: number
}

class GarbageCount {
  #profiler = new GCProfiler()
  #heapBytes = 0
  #cpu = process.cpuUsage()

  start(): void {
    this.#profiler = new GCProfiler()
    this.#profiler.start()
    this.#heapBytes = process.memoryUsage().heapUsed
    this.#cpu = process.cpuUsage()
  }

  /** What the heap gained between one collection and the next, added up. */
  stop(): Garbage {
    const { user, system } = process.cpuUsage(this.#cpu)
    const endBytes = process.memoryUsage().heapUsed
    const collections = this.#profiler.stop()?.statistics ?? []
    let afterBytes = this.#heapBytes
    let bytes = 0
    for (const { beforeGC, afterGC } of collections) {
      bytes += beforeGC.heapStatistics.usedHeapSize - afterBytes
      afterBytes = afterGC.heapStatistics.usedHeapSize
    }
    const scavenges = collections.filter(({ gcType }) => gcType === 'Scavenge').length
    return { scavenges, bytes: bytes + endBytes - afterBytes, cpuMs: (user + system) / 1000, userMs: user / 1000 }
  }
}

/** Serves until the gate disconnects. Every message asks for the garbage since the last one. */
async function serve({ module, config, keepsSpend, extra }: SubjectArgs): Promise<void> {
  if (extra !== null) addGarbage(extra)
  const { startGateway } = (await import(module)) as { startGateway: StartGateway }
  const gateway = await startGateway(JSON.stringify(config), keepsSpend ? { keepSpend() {} } : {})
  const count = new GarbageCount()
  count.start()
  process.on('message', () => {
    process.send!(count.stop())
    count.start()
  })
  process.on('disconnect', () => process.exit(0))
  process.send!({ port: gateway.port })
}

if (import.meta.main) await serve(JSON.parse(process.argv[2]!) as SubjectArgs)
