/** What the bench prints, and the JSON document that it leaves behind. */
import { mkdirSync, writeFileSync } from 'node:fs'
import type { GateResult } from './gc/gate.ts'
import type { Row } from './load/load.ts'
import { IDLE_CONNECTIONS } from './load/workloads.ts'
import type { MicroRow } from './micro.ts'

/** One run. Holds nothing that tells whose machine it was: no host name, no path. */
export interface Document {
  readonly date: string
  readonly commit: string
  readonly mode: 'full' | 'quick'
  readonly node: string
  readonly cpu: string
  /** Versions of the proxies that were measured. */
  readonly versions: Readonly<Record<string, string>>
  readonly micro: readonly MicroRow[]
  readonly gc: readonly GateResult[] | null
  readonly load: readonly Row[]
}

/** Cells in columns: the first left, all others right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((cells) => cells[column]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd()
  return all.map(line).join('\n')
}

export function microTable(rows: readonly MicroRow[]): string {
  const cells = rows.map((row) => [row.task, row.medianNs.toFixed(1), row.p99Ns.toFixed(1), String(row.samples)])
  return table(['micro', 'median ns', 'p99 ns', 'samples'], cells)
}

/** The table of one group of workloads. */
export function loadTable(rows: readonly Row[]): string {
  if (rows.some((row) => row.cpuUs === null)) return idleTable(rows)
  if (rows.some((row) => row.addedUs !== null)) return firstTable(rows)
  const head = [
    'workload',
    'peer',
    'CPU us',
    '(min)',
    'ratio',
    'answers/s',
    'at/s',
    'p50 us',
    'p99 us',
    'p99.9 us',
    'RSS MB',
    ''
  ]
  const cells = rows.map((row) => [
    row.workload,
    row.peer,
    number(row.cpuUs?.median, 1),
    number(row.cpuUs?.min, 1),
    number(row.ratio, 2),
    number(row.rps, 0),
    number(row.latency?.rate, 0),
    number(row.latency?.p50Us, 0),
    number(row.latency?.p99Us, 0),
    number(row.latency?.p999Us, 0),
    megabytes(row.rssBytes),
    verdict(row)
  ])
  return table(head, cells)
}

/** Microseconds from the request to the first byte of the answer's body. */
function firstTable(rows: readonly Row[]): string {
  const head = ['workload', 'peer', 'first us', 'p99 us', 'added us', 'CPU us', 'ratio', '']
  const cells = rows.map((row) => [
    row.workload,
    row.peer,
    number(row.latency?.p50Us, 0),
    number(row.latency?.p99Us, 0),
    number(row.addedUs, 0),
    number(row.cpuUs?.median, 1),
    number(row.ratio, 2),
    verdict(row)
  ])
  return table(head, cells)
}

function idleTable(rows: readonly Row[]): string {
  const head = [
    'workload',
    'peer',
    'RSS MB empty',
    `RSS MB with ${IDLE_CONNECTIONS}`,
    'MB over empty',
    'KB each',
    'ratio',
    ''
  ]
  const cells = rows.map((row) => {
    const over = row.rssBytes - row.emptyRssBytes
    const each = over / row.connections / 1024
    return [
      row.workload,
      row.peer,
      megabytes(row.emptyRssBytes),
      megabytes(row.rssBytes),
      megabytes(over),
      number(each, 2),
      number(row.ratio, 2),
      verdict(row)
    ]
  })
  return table(head, cells)
}

/** Whether every answer of the row was whole and right. */
export function passed(row: Row): boolean {
  return Object.keys(row.faults).length === 0
}

function verdict(row: Row): string {
  if (passed(row)) return 'ok'
  const kinds = Object.entries(row.faults).map(([kind, count]) => `${count} ${kind}`)
  return `FAILED: ${kinds.join(', ')}`
}

function number(value: number | null | undefined, digits: number): string {
  return value === null || value === undefined ? '-' : value.toFixed(digits)
}

function megabytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1)
}

/** Writes `document` into `folder`, one file per run; gives the file's name. */
export function save(document: Document, folder: URL): string {
  mkdirSync(folder, { recursive: true })
  const stamp = document.date.replaceAll(':', '').replace(/\.\d+Z$/, 'Z')
  const name = `${stamp}-${document.commit}-${document.mode}.json`
  writeFileSync(new URL(name, folder), `${JSON.stringify(document, null, 2)}\n`)
  return name
}
