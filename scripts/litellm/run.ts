/**
 * `npm run conformance -- litellm`: LiteLLM's own proxy beside weir, before one provider, asked the same by the same
 * clients of npm and PyPI. Both get their keys by as many calls of their own API; LiteLLM's live in PostgreSQL
 * (database/).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { startModels } from '#engine/testing/models.ts'
import { pinnedPython } from '#engine/testing/pinned.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { CALLS, type Gateway, type KeyName, MORE, outcomeOf, spendOfLitellm, spendOfWeir } from './calls.ts'
import { type Database, type Postgres, startDatabase } from './database/index.ts'

const HERE = import.meta.dirname
const MASTER = 'sk-master-0000000000'
const START_MS_MAX = 300_000
const RUN_MS_MAX = 300_000

/** Rows where both answer with another status or class, and why that is meant. */
const MEANT: Readonly<Record<string, string>> = {
  'a model that is not there': 'OpenAI says 404, and so does weir',
  'Anthropic: a model that is not there': 'Anthropic says 404, and so does weir',
  'a budget that is spent':
    'LiteLLM says 422 unless budget_exceeded_status_code is 429; weir says 429, with Retry-After'
}

interface Running extends Gateway {
  /** Where its own API is. */
  readonly admin: string
  close(): Promise<void>
}

/** The same keys as either has them made: one call for each, of /key/generate and of /api/v1/keys. */
const GENERATED: Readonly<Record<KeyName, Readonly<Record<'litellm' | 'weir', object>>>> = {
  alice: {
    litellm: { models: ['small'], rpm_limit: 100, tpm_limit: 100_000 },
    weir: {
      models: ['small'],
      limits: [
        { requests: 100, unit: 'Minutes' },
        { tokens: 100_000, unit: 'Minutes' }
      ]
    }
  },
  spent: {
    litellm: { max_budget: 0.000001, budget_duration: '30d' },
    weir: { budgets: [{ amount: 0.000001, period: 'Month' }] }
  },
  slow: { litellm: { rpm_limit: 1 }, weir: { limits: [{ requests: 1, unit: 'Minutes' }] } },
  all: { litellm: {}, weir: {} }
}

/** False: an answer differs that is not meant to, or one of weir is not as it should be. */
export async function runLitellm(print: (line: string) => void, postgres: Postgres): Promise<boolean> {
  const python = await pinnedPython('weir-litellm', join(HERE, 'requirements.txt'))
  const database = await startDatabase(python, postgres)
  const models = await startModels()
  try {
    const upstream = `http://127.0.0.1:${models.port}`
    const variables = { UPSTREAM: upstream, UPSTREAM_V1: `${upstream}/v1`, NOBODY: 'http://127.0.0.1:1/v1' }
    const proxies = [await startLitellm(python, database, variables), await startWeir(variables)] as const
    try {
      return await compared(python, proxies, print)
    } finally {
      for (const proxy of proxies) await proxy.close()
    }
  } finally {
    models.close()
    await database.close()
  }
}

async function compared(
  python: string,
  [litellm, weir]: readonly [Running, Running],
  print: (line: string) => void
): Promise<boolean> {
  // Each client begins with limits that nobody has used: the clients of PyPI ask first, and a minute is over then.
  const rows: (readonly [client: string, call: string, theirs: string, ours: string])[] = []
  for (const [name, call] of Object.entries({ ...CALLS, ...MORE }))
    rows.push(['npm', name, await outcomeOf(call, litellm), await outcomeOf(call, weir)])
  const [theirs, ours] = [await ofPython(python, litellm), await ofPython(python, weir)]
  for (const name of Object.keys(CALLS)) rows.push(['PyPI', name, theirs[name] ?? '', ours[name] ?? ''])
  rows.push(['npm', 'what a key has spent', await spendOfLitellm(litellm, MASTER), await spendOfWeir(weir.admin)])
  print('| client | call | LiteLLM | weir |\n|---|---|---|---|')
  for (const row of rows) print(`| ${row.join(' | ')} |`)
  const [longest, own] = [linesOf('litellm.yaml'), linesOf('weir.yaml')]
  const calls = Object.keys(GENERATED).length
  print(
    `lines of YAML: LiteLLM ${longest}, ${calls} calls of its API and a PostgreSQL; weir ${own}, ${calls} calls of its API`
  )
  if (own > longest) print('differs: weir needs more lines')
  const different = rows.filter(([, name, a, b]) => !name.startsWith('fields:') && headOf(a) !== headOf(b))
  const odd = different.filter(([, name]) => MEANT[name] === undefined)
  for (const [name, why] of Object.entries(MEANT)) print(`${name}: ${why}`)
  for (const [client, name] of odd) print(`differs: ${client}, ${name}`)
  return odd.length === 0 && own <= longest
}

/** Status, and class of the error; with what was said of an answer that is one. */
const headOf = (outcome: string): string =>
  outcome.startsWith('200') ? outcome : outcome.split(' ').slice(0, 2).join(' ')

const linesOf = (file: string): number =>
  readFileSync(join(HERE, file), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('#')).length

/** The program, with ports and a folder that are free. */
async function startWeir(variables: Readonly<Record<string, string>>): Promise<Running> {
  const [port, admin] = [await freePort(), await freePort()]
  const folder = mkdtempSync(join(tmpdir(), 'weir-litellm-'))
  const text = readFileSync(join(HERE, 'weir.yaml'), 'utf8')
    .replace('./weir-state', join(folder, 'state'))
    .replace('config: {', `config: { adminAddr: "127.0.0.1:${admin}", statsAddr: off, readinessAddr: off,`)
    .replace('llm:', `llm:\n  port: ${port}`)
  const program = runProgram(['-c', text], '', { ...variables })
  await program.logged('target=start')
  const close = async (): Promise<void> => {
    await program.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  const api = `http://127.0.0.1:${admin}`
  const keys = await keysOf('weir', (name, fields) => made(`${api}/api/v1/keys`, {}, { name, ...fields }))
  return { base: `http://127.0.0.1:${port}`, admin: api, keys, close }
}

async function startLitellm(
  python: string,
  database: Database,
  variables: Readonly<Record<string, string>>
): Promise<Running> {
  const port = 20_000 + (process.pid % 20_000)
  const args = [
    '--config',
    join(HERE, 'litellm.yaml'),
    '--host',
    '127.0.0.1',
    '--port',
    `${port}`,
    '--num_workers',
    '1'
  ]
  const child = spawn(join(dirname(python), 'litellm'), args, {
    cwd: HERE,
    // Its prices are those that it brings along, and it tells nobody that it runs.
    env: {
      ...{ ...process.env, ...variables, ...database.variables, MASTER_KEY: MASTER, PYTHONDONTWRITEBYTECODE: '1' },
      ...{ LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_TELEMETRY: 'False' },
      PATH: `${dirname(python)}:${dirname(process.execPath)}:${process.env.PATH}`
    },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: START_MS_MAX + RUN_MS_MAX
  })
  let printed = ''
  const lines = createInterface({ input: child.stderr })
  const started = new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      printed = `${printed}${line}\n`.slice(-4096)
      if (line.includes('Uvicorn running')) resolve()
    })
    child.once('exit', (code) => reject(new Error(`litellm: exit code ${code}: ${printed}`)))
  })
  await started
  const close = async (): Promise<void> => {
    child.removeAllListeners('exit')
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  const base = `http://127.0.0.1:${port}`
  const master = { authorization: `Bearer ${MASTER}` }
  const keys = await keysOf('litellm', (name, fields) => {
    return made(`${base}/key/generate`, master, { key_alias: name, ...fields })
  })
  return { base, admin: base, keys, close }
}

async function keysOf(
  gateway: 'litellm' | 'weir',
  make: (name: string, fields: object) => Promise<string>
): Promise<Gateway['keys']> {
  const keys: Record<string, string> = {}
  for (const [name, fields] of Object.entries(GENERATED)) keys[name] = await make(name, fields[gateway])
  return keys as Gateway['keys']
}

/** Both answer with the key that was made. */
async function made(address: string, master: Readonly<Record<string, string>>, body: object): Promise<string> {
  const headers = { ...master, 'content-type': 'application/json' }
  const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${address}: ${response.status} ${await response.text()}`)
  return ((await response.json()) as { readonly key: string }).key
}

async function ofPython(python: string, { base, keys }: Gateway): Promise<Record<string, string>> {
  const child = spawn(python, [join(HERE, 'openai_calls.py'), base, JSON.stringify(keys)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: RUN_MS_MAX
  })
  const ended = once(child, 'exit')
  let text = ''
  for await (const piece of child.stdout) text += String(piece)
  const [code] = (await ended) as [number | null]
  if (code !== 0) throw new Error(`openai_calls.py: exit code ${code}`)
  return JSON.parse(text) as Record<string, string>
}
