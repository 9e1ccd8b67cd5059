/** Weights of backends as people are shown them. */
import type { Share } from './story.ts'

/** With one decimal. */
export function sharesOf(all: readonly { readonly name: string; readonly weight: number }[]): Share[] {
  const total = all.reduce((sum, { weight }) => sum + weight, 0)
  const percent = (weight: number) => (total === 0 ? 0 : Math.round((weight / total) * 1000) / 10)
  return all.map(({ name, weight }) => ({ backend: name, percent: percent(weight) }))
}
