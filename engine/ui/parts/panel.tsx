/** A part of a page with a heading. */
import type { ComponentChildren } from 'preact'

export interface PanelProps {
  readonly title: string
  /** Beside the heading: buttons, links. */
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export function Panel({ title, actions, children }: PanelProps) {
  return (
    <section class="panel">
      <header>
        <h2>{title}</h2>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}

/** One figure with its name. */
export function Figure({
  name,
  value,
  note
}: {
  readonly name: string
  readonly value: ComponentChildren
  readonly note?: ComponentChildren
}) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong>
        {note !== undefined && <small>{note}</small>}
      </dd>
    </div>
  )
}
