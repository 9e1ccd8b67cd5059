/** Live requests that are followed: tokens for workers, and what these have told of them. */
import type { AdminTraces } from '#engine/admin/traces.ts'
import type { Story } from '#engine/story/story.ts'
import { STORIES_MAX } from '#engine/story/trace-limits.ts'
import type { ArmedTraces } from '#engine/workers/armed-traces.ts'
import type { ToWorker } from '#engine/workers/messages.ts'

/** A worker that is being replaced looks for itself when it begins. */
const KNOWN_MS_MAX = 1_000

/** What of the supervisor is used here. */
export interface TracedWorkers {
  readonly traces: ArmedTraces
  readonly workers: { readonly length: number }
  broadcast(message: ToWorker): void
}

export class Traces implements AdminTraces {
  readonly #supervisor: TracedWorkers
  #stories: readonly Story[] = []

  constructor(supervisor: TracedWorkers) {
    this.#supervisor = supervisor
  }

  add(story: Story): void {
    this.#stories = [...this.#stories, story].slice(-STORIES_MAX)
  }

  async arm(uses: number, lifetimeMs: number): ReturnType<AdminTraces['arm']> {
    const { traces, workers } = this.#supervisor
    const armed = traces.arm(uses, lifetimeMs, Date.now())
    if (armed === null) return null
    this.#supervisor.broadcast({ kind: 'armed' })
    await traces.known(workers.length, KNOWN_MS_MAX)
    return armed
  }

  stories(id: string): readonly Story[] {
    return this.#stories.filter((story) => story.id === id)
  }
}
