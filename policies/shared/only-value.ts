/** A header that a message has once, or not at all. */
import type { HeaderBlock } from '#engine/http/headers.ts'

/**
 * The value of the only line called `name` (lower case); undefined when there is none, null when there are
 * several: which of them counts would be a guess, and their sender hopes that two readers guess differently.
 */
export function onlyValue(block: HeaderBlock, name: string): string | null | undefined {
  const first = block.find(name, 0)
  if (block.added !== null) return amongAdded(block, block.added, name, first)
  if (first < 0) return undefined
  return block.find(name, first + 1) < 0 ? block.value(first) : null
}

function amongAdded(block: HeaderBlock, added: readonly string[], name: string, first: number) {
  if (first >= 0 && block.find(name, first + 1) >= 0) return null
  let found = first < 0 ? undefined : block.value(first)
  for (let i = 0; i < added.length; i += 2) {
    if (added[i]!.length !== name.length || added[i]!.toLowerCase() !== name) continue
    if (found !== undefined) return null
    found = added[i + 1]!
  }
  return found
}
