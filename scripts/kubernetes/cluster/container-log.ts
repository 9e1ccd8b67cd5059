/** Output of containers, each line with its time, as kubelets keep it: "TIME LINE". */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Appends all that `output` gives to the file. */
export function keepLog(output: Readable, file: string): void {
  createInterface({ input: output }).on('line', (line) => appendFileSync(file, `${new Date().toISOString()} ${line}\n`))
}

/** Lines since a time, in milliseconds, without their times. */
export function readLog(file: string, since: number): string {
  if (!existsSync(file)) return ''
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  const recent = lines.filter((line) => Date.parse(line.slice(0, line.indexOf(' '))) >= since)
  return recent.map((line) => `${line.slice(line.indexOf(' ') + 1)}\n`).join('')
}
