/** CSV (RFC 4180) that a spreadsheet shows and does not run. */

export type Cell = string | number | bigint | null

/** Spreadsheets take a text that begins so for a formula; names of models and keys come from outside. */
const FORMULA = /^[=+\-@\t\r]/
const QUOTED = /[",\r\n]/

function cell(value: Cell): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return QUOTED.test(text) || text !== value ? `"${text.replaceAll('"', '""')}"` : text
}

/** Lines end with CRLF, the last one too. */
export function csvOf(names: readonly string[], rows: Iterable<readonly Cell[]>): string {
  let out = `${names.join(',')}\r\n`
  for (const row of rows) out += `${row.map(cell).join(',')}\r\n`
  return out
}
