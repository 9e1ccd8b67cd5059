/** Stories of a trace, which are there when its requests are over. */
import type { Story } from '#engine/story/story.ts'
import { ApiFailure, call } from '#engine/ui/api/client.ts'

/** The workers tell it within this time, on a busy machine too. */
const TRIES = 50
const TRY_MS = 100

/** Empty as long as there is none. */
export async function storiesOf(id: string, signal: AbortSignal): Promise<readonly Story[]> {
  try {
    return (await call('getTrace', { names: { id } }, signal)).stories as unknown as readonly Story[]
  } catch (problem) {
    if (problem instanceof ApiFailure && problem.status === 404) return []
    throw problem
  }
}

/** The first one; null: none has come in time. */
export async function storyOf(id: string, signal: AbortSignal): Promise<Story | null> {
  for (let tries = 0; tries < TRIES && !signal.aborted; tries++) {
    const [story] = await storiesOf(id, signal)
    if (story !== undefined) return story
    await new Promise((resolve) => setTimeout(resolve, TRY_MS))
  }
  return null
}
