/** `weir cel`: an expression on a sample. */
import { readFileSync } from 'node:fs'
import { evaluateSample, type Sample, type SampleProblem, type SampleResult } from '#engine/cel/sample.ts'
import { parseJson } from '#engine/kit/json.ts'
import { isObject } from '#engine/kit/scan/texts.ts'
import { EXIT_CONFIG, EXIT_FAILURE, EXIT_OK, EXIT_USAGE } from '#engine/process/cli.ts'
import { leave } from '#engine/process/words.ts'
import type { CelQuestion } from './options.ts'

export function runCel({ expression, place, sample: text, isJson }: CelQuestion): void {
  const sample = text === null ? {} : readSample(text)
  if (typeof sample === 'string') {
    leave(EXIT_USAGE, `weir: --sample: ${sample}\nTry weir cel --help.\n`)
    return
  }
  const result = evaluateSample(expression, place, sample)
  process.exitCode = exitCodeOf(result)
  if (isJson) process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
  else if (!result.ok) process.stderr.write(problemsText(expression, result.problems))
  else if (result.error !== null) process.stderr.write(`weir: no value: ${result.error.message}\n${readsText(result)}`)
  else process.stdout.write(`${JSON.stringify(result.value, null, 2)}\n`)
}

function exitCodeOf(result: SampleResult): number {
  if (!result.ok) return EXIT_CONFIG
  return result.error === null && result.value !== false ? EXIT_OK : EXIT_FAILURE
}

/** A text says what is wrong. */
function readSample(text: string): Sample | string {
  let json = text
  if (text.startsWith('@')) {
    try {
      json = readFileSync(text === '@-' ? 0 : text.slice(1), 'utf8')
    } catch (error) {
      return `cannot read the file: ${(error as Error).message}`
    }
  }
  const value = parseJson(json)
  return isObject(value) ? value : 'must be a JSON object: {"request": {"url": "http://a/b"}}'
}

/** Each with its line of the expression, and what it is about marked below. */
function problemsText(expression: string, problems: readonly SampleProblem[]): string {
  const lines = expression.split('\n')
  return problems
    .map(({ message, field, line, column, length = 1 }) => {
      if (line === undefined || column === undefined) return `weir: sample ${field}: ${message}\n`
      const source = lines[line - 1] ?? ''
      const mark = '^'.repeat(Math.max(1, Math.min(length, source.length - column + 1)))
      return `weir: ${line}:${column}: ${message}\n  ${source}\n  ${' '.repeat(column - 1)}${mark}\n`
    })
    .join('')
}

function readsText({ reads }: SampleResult & { readonly ok: true }): string {
  return reads
    .map((read) => `  ${read.name} is ${'value' in read ? JSON.stringify(read.value) : 'not there'}\n`)
    .join('')
}
