/** A table, which narrow screens show as cards: each cell knows the title of its column. */
import type { ComponentChildren } from 'preact'

export interface Column<T> {
  readonly title: string
  readonly cell: (row: T) => ComponentChildren
  /** Right, in digits of one width. */
  readonly isNumber?: boolean
}

export interface TableProps<T> {
  /** What it is a table of, for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  /** Of the row that the page is about. */
  readonly chosen?: string | null
}

/** Roles are said because cards are no table to a browser; what scrolls must be reached by keys. */
export function Table<T>({ caption, columns, rows, keyOf, chosen = null }: TableProps<T>) {
  return (
    <section class="scroll" tabIndex={0} aria-label={caption}>
      <table role="table">
        <caption class="sr">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ title, isNumber }) => (
              <th key={title} role="columnheader" scope="col" class={isNumber === true ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row" class={keyOf(row) === chosen ? 'chosen' : undefined}>
              {columns.map(({ title, cell, isNumber }) => (
                <td key={title} role="cell" data-label={title} class={isNumber === true ? 'number' : undefined}>
                  <div>{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
