/** `weir init`: asks what is not known, makes sure that the file loads, and writes it. */
import { openSync, writeSync } from 'node:fs'
import { createInterface, type Interface } from 'node:readline/promises'
import { EXIT_CONFIG, EXIT_FAILURE, EXIT_USAGE } from '#engine/process/cli.ts'
import { leave } from '#engine/process/words.ts'
import { formatErrors, type LoadOptions, loadConfig } from '#engine/standalone/load.ts'
import { type Answers, DEFAULTS, type FirstFile, fileFor, JOBS, type Job, QUESTIONS } from './files.ts'
import { type InitQuestion, portOf } from './options.ts'

export type InitParts = Pick<LoadOptions, 'policies' | 'backends' | 'check'>

export interface Terminal {
  /** Null: nobody is there to be asked. */
  readonly ask: ((question: string) => Promise<string>) | null
  readonly close: () => void
}

export async function runInit(question: InitQuestion, parts: InitParts, terminal = ownTerminal()): Promise<void> {
  try {
    const job = question.job ?? (await askJob(terminal))
    if (job === null) return leave(EXIT_USAGE, `weir: init needs a job: ${JOBS.join(', ')}\nTry weir init --help.\n`)
    const name = question.output === '-' ? 'weir.yaml' : question.output
    const file = fileFor(job, await answersFor(job, question, terminal), name)
    const wrong = mistakesIn(file, parts)
    if (wrong !== null) return leave(EXIT_CONFIG, `${wrong}weir: nothing was written\n`)
    write(file, question)
  } finally {
    terminal.close()
  }
}

function ownTerminal(): Terminal {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return { ask: null, close: () => {} }
  // On the standard error, so that `-o -` has the file alone.
  const lines: Interface = createInterface({ input: process.stdin, output: process.stderr })
  return { ask: (text) => lines.question(text), close: () => lines.close() }
}

async function askJob({ ask }: Terminal): Promise<Job | null> {
  if (ask === null) return null
  for (;;) {
    const answer = (await ask('What is it for: llm (models), mcp (tools), proxy (HTTP)? [llm] ')).trim().toLowerCase()
    const job = JOBS.find((one) => one === (answer || 'llm'))
    if (job !== undefined) return job
  }
}

async function answersFor(job: Job, { to, port, job: known }: InitQuestion, { ask }: Terminal): Promise<Answers> {
  const usual = DEFAULTS[job]
  // Who has said the job on the command line wants no questions.
  if (ask === null || known !== null) return { to: to ?? usual.to, port: port ?? usual.port }
  const target = to ?? ((await ask(`${QUESTIONS[job].to}? [${usual.to}] `)).trim() || usual.to)
  return { to: target, port: port ?? (await askPort(ask, `${QUESTIONS[job].port}? [${usual.port}] `, usual.port)) }
}

async function askPort(ask: NonNullable<Terminal['ask']>, text: string, usual: number): Promise<number> {
  for (;;) {
    const answer = (await ask(text)).trim()
    const port = answer === '' ? usual : portOf(answer)
    if (!Number.isNaN(port)) return port
  }
}

/** Null: it loads. Variables need not be set for that. */
function mistakesIn({ text, variables }: FirstFile, { policies, backends, check }: InitParts): string | null {
  const env = { ...Object.fromEntries(variables.map((name) => [name, 'not-set'])), ...process.env }
  const options = { policies, backends, ...(check === undefined ? {} : { check }), env, folder: process.cwd() }
  const result = loadConfig(text, { ...options, file: 'weir.yaml' })
  return result.ok ? null : `${formatErrors(result.errors).trimEnd()}\n`
}

function write({ text, variables, tries }: FirstFile, { output, isForced }: InitQuestion): void {
  if (output === '-') {
    process.stdout.write(text)
    return
  }
  try {
    writeSync(openSync(output, isForced ? 'w' : 'wx', 0o644), text)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'EEXIST' ? `${output} is there already: --force writes over it, -o writes another` : message
    leave(EXIT_FAILURE, `weir: ${why}\n`)
    return
  }
  const unset = variables.filter((name) => process.env[name] === undefined)
  const steps = [...unset.map((name) => `export ${name}=...`), `weir -f ${output}`, ...tries]
  process.stderr.write(
    `Written: ${output}. Next:\n${steps.map((step) => `  ${step.replaceAll('\n', '\n  ')}\n`).join('')}`
  )
}
