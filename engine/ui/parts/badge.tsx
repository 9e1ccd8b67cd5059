/** A word about a state; its tone is never all that says it. */
import type { ComponentChildren } from 'preact'

export type Tone = 'ok' | 'warn' | 'bad' | 'plain'

export function Badge({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}
