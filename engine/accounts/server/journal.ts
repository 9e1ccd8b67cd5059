/**
 * Facts that the server may not have, on the disk of this process: a line of JSON for each, written before it is sent.
 * The process that comes next sends them again; their numbers see to it that they count once.
 */
import { closeSync, fdatasync, fdatasyncSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Fsync } from '#engine/contract/accounts.ts'
import { parseJson } from '#engine/kit/json.ts'
import type { Correct, Fact, Part, Settle } from './operations.ts'

const SEGMENT_BYTES = 1024 * 1024
const FILE = /^(.+)\.(\d{1,9})\.facts$/
const FILE_MODE = 0o600

/** A call that went on while the server was away: its number, what it may cost, and where. */
type Estimate = readonly ['estimate', n: number, bound: string, parts: readonly Part[]]

interface Segment {
  readonly file: string
  readonly fd: number
  bytes: number
  /** The highest number in it. */
  last: number
  /** Estimates without their settlement. */
  readonly open: Set<number>
}

export interface FactPlace {
  readonly folder: string
  readonly writer: string
  readonly fsync: Fsync
}

type Log = (level: 'error', message: string) => void

export class FactJournal {
  readonly #place: FactPlace
  readonly #log: Log
  readonly #segments: Segment[] = []
  #sequence = 0
  #isBroken = false
  #isDirty = false

  constructor(place: FactPlace, log: Log) {
    this.#place = place
    this.#log = log
  }

  /** Requests and tokens that are counted too few after a crash cost nothing. */
  write(fact: Fact): void {
    if (fact[0] !== 'settle' && fact[0] !== 'correct') return
    this.#append(fact)
    if (fact[0] === 'settle') for (const { open } of this.#segments) open.delete(fact[2])
  }

  /** False: it cannot be written. */
  estimate(n: number, bound: string, parts: readonly Part[]): boolean {
    if (!this.#append(['estimate', n, bound, parts])) return false
    this.#segments.at(-1)!.open.add(n)
    return true
  }

  /** The server has all facts below the number `first`. Also brings what was written to the disk (`fsync`). */
  forget(first: number): void {
    while (this.#segments.length > 0) {
      const [oldest] = this.#segments as [Segment]
      const isEmpty = oldest.bytes === 0
      if (isEmpty || oldest.last >= first || oldest.open.size > 0) break
      this.#remove(oldest)
    }
    const current = this.#segments.at(-1)
    if (!this.#isDirty || current === undefined || this.#place.fsync !== 'everysec') return
    this.#isDirty = false
    fdatasync(current.fd, (error) => {
      if (error !== null) this.#isDirty = true
    })
  }

  /** `isEmpty`: the server has them all. */
  close(isEmpty: boolean): void {
    for (const segment of [...this.#segments]) {
      if (isEmpty && segment.open.size === 0) this.#remove(segment)
      else closeSync(segment.fd)
    }
    this.#segments.length = 0
  }

  #append(record: Settle | Correct | Estimate): boolean {
    try {
      const segment = this.#segmentFor()
      const line = Buffer.from(`${JSON.stringify(record)}\n`)
      let written = 0
      while (written < line.length) written += writeSync(segment.fd, line, written)
      segment.bytes += line.length
      segment.last = Math.max(segment.last, record[1])
      this.#isDirty = true
      if (this.#place.fsync === 'always') fdatasyncSync(segment.fd)
      this.#isBroken = false
      return true
    } catch (error) {
      if (!this.#isBroken) this.#log('error', `facts cannot be written down: ${(error as Error).message}`)
      this.#isBroken = true
      return false
    }
  }

  #segmentFor(): Segment {
    const current = this.#segments.at(-1)
    if (current !== undefined && current.bytes < SEGMENT_BYTES && !this.#isBroken) return current
    const file = join(this.#place.folder, `${this.#place.writer}.${++this.#sequence}.facts`)
    const fresh = { file, fd: openSync(file, 'ax', FILE_MODE), bytes: 0, last: 0, open: new Set<number>() }
    this.#segments.push(fresh)
    return fresh
  }

  #remove(segment: Segment): void {
    this.#segments.splice(this.#segments.indexOf(segment), 1)
    closeSync(segment.fd)
    rmSync(segment.file, { force: true })
  }
}

/** What a writer that is gone has left. */
export interface Left {
  readonly writer: string
  /** In the order of their numbers. */
  readonly facts: readonly (Settle | Correct)[]
  /** Estimates of calls that nobody has settled, as settlements. */
  readonly unsettled: readonly Settle[]
  readonly files: readonly string[]
}

/** `isLiving`: writers of this process. */
export function leftIn(folder: string, isLiving: (writer: string) => boolean): readonly Left[] {
  const found = new Map<string, { readonly sequence: number; readonly file: string }[]>()
  for (const name of readdirSync(folder)) {
    const [, writer, sequence] = FILE.exec(name) ?? []
    if (writer === undefined || isLiving(writer)) continue
    const files = found.get(writer) ?? []
    files.push({ sequence: Number(sequence), file: join(folder, name) })
    found.set(writer, files)
  }
  return [...found].map(([writer, segments]) => {
    const files = segments.toSorted((a, b) => a.sequence - b.sequence).map(({ file }) => file)
    return { writer, ...readFacts(files.map((file) => readFileSync(file, 'utf8')).join('\n')), files }
  })
}

/** Never throws. Lines that are none, such as the last one of a process that was killed, are left out. */
export function readFacts(text: string): Pick<Left, 'facts' | 'unsettled'> {
  const facts = new Map<number, Settle | Correct>()
  const estimates = new Map<number, Settle>()
  for (const line of text.split('\n')) {
    const record = recordOf(parseJson(line))
    if (record === null) continue
    if (record[0] === 'estimate') estimates.set(record[1], ['settle', record[1], 0, record[2], record[3]])
    else facts.set(record[1], record)
  }
  for (const fact of facts.values()) if (fact[0] === 'settle') estimates.delete(fact[2])
  const inOrder = <F extends Settle | Correct>(all: ReadonlyMap<number, F>) =>
    [...all.values()].toSorted((a, b) => a[1] - b[1])
  return { facts: inOrder(facts), unsettled: inOrder(estimates) }
}

function recordOf(value: unknown): Settle | Correct | Estimate | null {
  if (!Array.isArray(value) || !isNumber(value[1]) || value[1] < 1) return null
  const [kind, n, second, third, fourth] = value as unknown[] as [unknown, number, unknown, unknown, unknown]
  if (kind === 'settle' && isNumber(second) && isAmount(third, false) && isParts(fourth))
    return ['settle', n, second, third, fourth]
  if (kind === 'correct' && isAmount(second, true) && isParts(third)) return ['correct', n, second, third]
  return kind === 'estimate' && isAmount(second, false) && isParts(third) ? ['estimate', n, second, third] : null
}

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
const isAmount = (value: unknown, mayBeNegative: boolean): value is string =>
  typeof value === 'string' && /^-?\d{1,18}$/.test(value) && (mayBeNegative || !value.startsWith('-'))
const isParts = (value: unknown): value is readonly Part[] => Array.isArray(value) && value.every(isPart)

function isPart(value: unknown): value is Part {
  if (!Array.isArray(value) || value.length !== 6) return false
  const [id, limit, ...numbers] = value as unknown[]
  return typeof id === 'string' && isAmount(limit, false) && numbers.every(isNumber)
}
