/**
 * Loaded ahead of a program (--import, with --expose-gc): at SIGUSR2 each of its threads writes a line of what it has
 * after a full collection.
 */
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads'

const CHANNEL = 'weir-soak'

export interface ThreadMemory {
  readonly thread: number
  readonly heapBytes: number
  readonly externalBytes: number
  /** Handles and requests that keep the event loop. */
  readonly resources: number
}

const collect = (globalThis as { readonly gc?: () => void }).gc

function measure(): void {
  if (collect === undefined) return
  // What the first one has made unreachable by finalizers goes with the second.
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  const resources = process.getActiveResourcesInfo().length
  const memory: ThreadMemory = { thread: threadId, heapBytes: heapUsed, externalBytes: external, resources }
  process.stdout.write(`soak ${JSON.stringify(memory)}\n`)
}

if (collect !== undefined) {
  const channel = new BroadcastChannel(CHANNEL)
  channel.unref()
  if (isMainThread) {
    process.on('SIGUSR2', () => {
      channel.postMessage('measure')
      measure()
    })
  } else channel.onmessage = measure
}
