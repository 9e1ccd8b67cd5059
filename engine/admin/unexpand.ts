/**
 * Text of a configuration as its file has it: values that came from the environment are references again ($TOKEN).
 * A Snapshot does not know where a text of it came from, so they are found by what they are: too much is hidden rather
 * than too little.
 */
import type { Expanded } from '#engine/ir/expanded.ts'

export type Unexpand = (text: string) => string

/**
 * Shorter values are found where they are, with what stands around them in the file, the whole text, and not inside of
 * other texts: "eu" is a part of many words.
 */
const PART_LENGTH_MIN = 6

/** Null: nothing came from the environment. */
export function unexpander(expanded: readonly Expanded[]): Unexpand | null {
  const wholes = new Map<string, string>()
  const parts = new Map<string, string>()
  for (const { written, value, variables } of expanded) {
    if (variables.length === 0) continue
    for (const form of formsOf(value)) wholes.set(form, written.trim())
    for (const variable of variables) {
      for (const form of [variable.value, ...variable.value.split('\n')].flatMap(formsOf)) {
        if (form.length >= PART_LENGTH_MIN) parts.set(form, variable.written)
      }
    }
  }
  if (wholes.size === 0) return null
  // The longest first: one may be a part of another.
  const ordered = [...parts].sort(([a], [b]) => b.length - a.length)
  return (text) => {
    const whole = wholes.get(text)
    if (whole !== undefined) return whole
    let out = text
    for (const [form, written] of ordered) if (out.includes(form)) out = out.split(form).join(written)
    return out
  }
}

/** As it may stand in a Snapshot: without blanks around it, in a URL, in an expression or JSON. None is empty. */
function formsOf(value: string): string[] {
  const trimmed = value.trim()
  const forms = [value, trimmed, JSON.stringify(trimmed).slice(1, -1), encodeURIComponent(trimmed.toWellFormed())]
  return [...new Set(forms)].filter((form) => form.trim() !== '')
}
