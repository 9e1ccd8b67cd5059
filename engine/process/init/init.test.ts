/** `weir init`: what it writes loads, as it is and with all that stands there as a comment. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { backends } from '#backends/index.ts'
import { readArguments } from '#engine/process/cli.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'
import { runInit, type Terminal } from './command.ts'
import { DEFAULTS, fileFor, JOBS, type Job } from './files.ts'
import type { InitQuestion } from './options.ts'

const parts = { policies, backends }
const NOBODY: Terminal = { ask: null, close() {} }

/** With every example that stands there as a comment: prose begins with a capital. */
const uncommented = (text: string) => text.replaceAll(/^(\s*)# (?=[-a-z ])/gm, '$1')

function mistakesIn(text: string): string[] {
  const env = Object.fromEntries([...text.matchAll(/\$(\w+)/g)].map(([, name]) => [name!, `value-of-${name}`]))
  const result = loadConfig(text, { policies, backends, env, file: 'weir.yaml', folder: '.' })
  return result.ok ? [...result.warnings] : result.errors.map(({ path, message }) => `${path}: ${message}`)
}

const TARGETS: { readonly [job in Job]: readonly string[] } = {
  llm: ['openai', 'anthropic', 'gemini', 'mistral', 'groq', 'deepseek', 'ollama', 'openrouter', 'vertexai'],
  mcp: ['http://localhost:9001/mcp', 'npx -y \'@scope/server\' "/a b"', 'weir mcp-server clock'],
  proxy: ['localhost:9000', '10.0.0.1:80', '[::1]:8080']
}

for (const job of JOBS) {
  test(`${job}: the file loads for each target, and so does all that it shows as a comment`, () => {
    for (const to of [DEFAULTS[job].to, ...TARGETS[job]]) {
      if (to === 'vertexai') continue
      const { text } = fileFor(job, { to, port: 4711 }, 'weir.yaml')
      deepEqual(mistakesIn(text), [], to)
      const whole = uncommented(text)
      ok(whole !== text)
      deepEqual(mistakesIn(whole), [], whole)
      match(text, /port: 4711/)
    }
  })
}

test('words of a command are those of a shell', () => {
  const { text } = fileFor('mcp', { to: 'npx -y \'@scope/server\' "/a b"', port: 1 }, 'f')
  match(text, /stdio: \{ cmd: npx, args: \["-y", "@scope\/server", "\/a b"\] \}/)
})

// --- the command ---

const errors: string[] = []
const written: string[] = []
const { write } = process.stderr
const { write: writeOut } = process.stdout
const question = (more: Partial<InitQuestion>): InitQuestion => ({
  ...{ job: null, to: null, port: null, output: '-', isForced: false },
  ...more
})

beforeEach(() => {
  errors.length = 0
  written.length = 0
})
after(() => {
  process.exitCode = 0
})

/** Exit code of the run, with what it prints. */
async function run(of: InitQuestion, terminal = NOBODY): Promise<number> {
  process.exitCode = 0
  process.stderr.write = ((text: string) => errors.push(text) > 0) as typeof write
  process.stdout.write = ((text: string) => written.push(text) > 0) as typeof writeOut
  try {
    await runInit(of, parts, terminal)
  } finally {
    process.stderr.write = write
    process.stdout.write = writeOut
  }
  const code = Number(process.exitCode)
  process.exitCode = 0
  return code
}

test('three questions, each again until its answer makes sense', async () => {
  const answers = ['models', 'LLM', 'anthropic', 'x', '70000', '4444']
  const questions: string[] = []
  const ask = (text: string) => {
    questions.push(text)
    return Promise.resolve(answers.shift()!)
  }
  equal(await run(question({}), { ask, close() {} }), 0)
  deepEqual(answers, [])
  equal(questions.length, 6)
  match(written.join(''), /port: 4444[\s\S]*provider: anthropic[\s\S]*\$ANTHROPIC_API_KEY/)
})

test('empty answers are the defaults; a job on the command line asks nothing', async () => {
  equal(await run(question({}), { ask: () => Promise.resolve(''), close() {} }), 0)
  match(written.join(''), /port: 4000[\s\S]*provider: openai/)
  const ask = () => Promise.reject(new Error('nothing is asked'))
  equal(await run(question({ job: 'proxy', port: 81 }), { ask, close() {} }), 0)
  match(written.join(''), /port: 81[\s\S]*localhost:9000/)
})

test('a file that is there stays, unless --force says so; what does not load is not written', async () => {
  const output = join(tmpdir(), `weir-init-${process.pid}.yaml`)
  writeFileSync(output, 'mine')
  equal(await run(question({ job: 'llm', output })), 1)
  match(errors.join(''), /is there already: --force writes over it/)
  equal(readFileSync(output, 'utf8'), 'mine')
  equal(await run(question({ job: 'llm', to: 'opnai', output, isForced: true })), 3)
  match(errors.join(''), /provider.*did you mean "openai".*\nweir: nothing was written\n/s)
  equal(readFileSync(output, 'utf8'), 'mine')
  equal(await run(question({ job: 'llm', to: 'ollama', output, isForced: true })), 0)
  match(readFileSync(output, 'utf8'), /provider: ollama\n/)
  match(errors.join(''), new RegExp(`weir -f ${output}`))
})

test('without a terminal a job is needed', async () => {
  equal(await run(question({})), 2)
  match(errors.join(''), /needs a job: llm, mcp, proxy/)
})

test('the command line', () => {
  deepEqual(readArguments(['init', 'mcp', '--to', 'http://a/mcp', '-p', '80', '-o', 'a.yaml', '--force']), {
    kind: 'init',
    question: { job: 'mcp', to: 'http://a/mcp', port: 80, output: 'a.yaml', isForced: true }
  })
  for (const [args, expected] of [
    [['prxy'], /no job 'prxy'; did you mean proxy\?/],
    [['llm', 'more'], /unexpected argument 'more'/],
    [['--to', 'x'], /--to needs a job/],
    [['llm', '-p', '0'], /1 to 65535, not '0'/],
    [['llm', '--to', 'a\nb'], /one line/],
    [['llm', '--prot', '1'], /did you mean --port/]
  ] as const) {
    const command = readArguments(['init', ...args])
    ok(command.kind === 'usage', args.join(' '))
    match(command.message, expected)
    equal(command.help, 'weir init --help')
  }
})
