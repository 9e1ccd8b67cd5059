/**
 * The gateway as a process whose scavenges are counted. Its serving stack runs in the main thread:
 * V8 fixes the size of the young generation by process flags, while a worker's resourceLimits only
 * bound it from above, and the heap grows towards the bound when it likes.
 */
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { HeaderBlock } from '#engine/http/headers.ts'

/** What engine/testing/gateway.ts offers: the serving stack of one worker in the calling thread. */
export type StartGateway = (yamlText: string) => Promise<{ port: number; close(): Promise<void> }>

/** Garbage added per request, to show that the gate sees it; `none` is the control of that experiment. */
export const EXTRAS = ['none', 'closure', 'promise'] as const
export type Extra = (typeof EXTRAS)[number]

export interface SubjectArgs {
  /** URL of a module that exports startGateway. */
  readonly module: string
  readonly backendPort: number
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

function configuration(backendPort: number): string {
  return JSON.stringify({
    config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
    binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ host: `127.0.0.1:${backendPort}` }] }] }] }]
  })
}

/** Serves until the gate disconnects. Every message asks for the scavenges since the last one. */
async function serve({ module, backendPort, extra }: SubjectArgs): Promise<void> {
  if (extra !== null) addGarbage(extra)
  const { startGateway } = (await import(module)) as { startGateway: StartGateway }
  const gateway = await startGateway(configuration(backendPort))
  let scavenges = 0
  const count = (entries: readonly object[]) => {
    for (const { detail } of entries as readonly { detail?: { kind?: number } }[]) {
      if (detail?.kind === constants.NODE_PERFORMANCE_GC_MINOR) scavenges++
    }
  }
  const observer = new PerformanceObserver((list) => count(list.getEntries()))
  observer.observe({ entryTypes: ['gc'] })
  process.on('message', () => {
    count(observer.takeRecords())
    process.send!({ scavenges })
    scavenges = 0
  })
  process.on('disconnect', () => process.exit(0))
  process.send!({ port: gateway.port })
}

if (import.meta.main) await serve(JSON.parse(process.argv[2]!) as SubjectArgs)
