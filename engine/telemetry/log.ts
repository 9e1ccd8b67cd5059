/**
 * The log of the process itself, on stderr: what was loaded, refused, started, lost.
 *
 * It writes synchronously: the line that explains a crash must be out before the crash. It is meant for
 * events of the process; per-exchange lines belong to the access log, which never blocks.
 * Nothing secret may be passed in: messages are written by us, fields are names, counts and error texts.
 */
import { writeSync } from 'node:fs'
import { type FieldValue, field, type LogFormat, timestamp } from './escape.ts'
import { type Level, type Levels, parseLevels } from './levels.ts'

/** Bound of one field: a validation report of many errors fits, a dumped body does not. */
const FIELD_CHARS_MAX = 8192

export type Fields = Readonly<Record<string, FieldValue>>

export interface Logging {
  /** Directives, see levels.ts. */
  readonly level: string
  readonly format: LogFormat
}

export interface Logger {
  /** `target`: the part of the program that speaks, for example "reload"; directives select by it. */
  log(level: Level, target: string, message: string, fields?: Fields): void
  enabled(level: Level, target: string): boolean
  /** The directives in force. */
  level(): string
  /** Throws an Error that says what is wrong with `text`; the old directives stay then. */
  setLevel(text: string): void
}

export interface LoggerOptions extends Logging {
  /** Fields of every line, for example the worker's number. */
  readonly fields?: Fields
  /** Where lines go (each ended by LF); stderr by default. May throw: the line is lost and counted. */
  readonly write?: (line: string) => void
}

/** Throws an Error if the directives are malformed. */
export function createLogger(options: LoggerOptions): Logger {
  const { format } = options
  const write = options.write ?? ((line: string) => void writeSync(2, line, null, 'latin1'))
  const common = joined(format, options.fields)
  let levels: Levels = parseLevels(options.level)
  let lost = 0

  function log(level: Level, target: string, message: string, fields?: Fields): void {
    if (!levels.wants(level, target)) return
    let line = head(format, level, target, message) + common + joined(format, fields)
    if (lost > 0) line += field(format, 'lost', lost, FIELD_CHARS_MAX)
    try {
      write(format === 'json' ? `{${line.slice(1)}}\n` : `${line.slice(1)}\n`)
      lost = 0
    } catch {
      // stderr is full or gone, and there is nowhere else to say so: the next line that gets through tells how many.
      lost++
    }
  }

  return {
    log,
    enabled: (level, target) => levels.wants(level, target),
    level: () => levels.text,
    setLevel: (text) => {
      levels = parseLevels(text)
    }
  }
}

function head(format: LogFormat, level: Level, target: string, message: string): string {
  return joined(format, { time: timestamp(Date.now()), level, target, message })
}

function joined(format: LogFormat, fields: Fields | undefined): string {
  let out = ''
  for (const name in fields) out += field(format, name, fields[name], FIELD_CHARS_MAX)
  return out
}
