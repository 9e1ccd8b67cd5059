/**
 * `npm run conformance -- litellm`: LiteLLM's own proxy beside weir, before one provider, asked the same by the same
 * clients of npm and PyPI. LiteLLM's virtual keys live in PostgreSQL behind an engine that prisma gets from its own
 * site: without them keys.py says who may call, through LiteLLM's own hook for that.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { startGateway } from '#engine/testing/gateway.ts'
import { startModels } from '#engine/testing/models.ts'
import { pinnedPython } from '#engine/testing/pinned.ts'
import { CALLS, MORE, outcomeOf } from './calls.ts'

const HERE = import.meta.dirname
const START_MS_MAX = 300_000
const RUN_MS_MAX = 300_000

/** Rows where both answer with another status or class, and why that is meant. */
const MEANT: Readonly<Record<string, string>> = {
  'a model that the key may not use': "LiteLLM checks a key's models with its database only",
  'a model that is not there': 'OpenAI says 404, and so does weir',
  'Anthropic: a model that is not there': 'Anthropic says 404, and so does weir',
  'a budget that is spent':
    'LiteLLM says 422 unless budget_exceeded_status_code is 429; weir says 429, with Retry-After'
}

interface Proxy {
  readonly base: string
  close(): Promise<void>
}

/** False: an answer differs that is not meant to, or one of weir is not as it should be. */
export async function runLitellm(print: (line: string) => void): Promise<boolean> {
  const python = await pinnedPython('weir-litellm', join(HERE, 'requirements.txt'))
  const models = await startModels()
  try {
    const upstream = `http://127.0.0.1:${models.port}`
    const variables = { UPSTREAM: upstream, UPSTREAM_V1: `${upstream}/v1`, NOBODY: 'http://127.0.0.1:1/v1' }
    const proxies = [await startLitellm(python, variables), await startWeir(variables)] as const
    try {
      return await compared(python, proxies, print)
    } finally {
      for (const proxy of proxies) await proxy.close()
    }
  } finally {
    models.close()
  }
}

async function compared(
  python: string,
  [litellm, weir]: readonly [Proxy, Proxy],
  print: (line: string) => void
): Promise<boolean> {
  // Each client begins with limits that nobody has used: the clients of PyPI ask first, and a minute is over then.
  const rows: (readonly [client: string, call: string, theirs: string, ours: string])[] = []
  for (const [name, call] of Object.entries({ ...CALLS, ...MORE }))
    rows.push(['npm', name, await outcomeOf(call, litellm.base), await outcomeOf(call, weir.base)])
  const [theirs, ours] = [await ofPython(python, litellm.base), await ofPython(python, weir.base)]
  for (const name of Object.keys(CALLS)) rows.push(['PyPI', name, theirs[name] ?? '', ours[name] ?? ''])
  print('| client | call | LiteLLM | weir |\n|---|---|---|---|')
  for (const row of rows) print(`| ${row.join(' | ')} |`)
  print(
    `lines of YAML: LiteLLM ${linesOf('litellm.yaml')} and ${linesOf('keys.py')} of Python, weir ${linesOf('weir.yaml')}`
  )
  const different = rows.filter(([, name, a, b]) => !name.startsWith('fields:') && headOf(a) !== headOf(b))
  const odd = different.filter(([, name]) => MEANT[name] === undefined)
  for (const [name, why] of Object.entries(MEANT)) print(`${name}: ${why}`)
  for (const [client, name] of odd) print(`differs: ${client}, ${name}`)
  return odd.length === 0
}

/** Status, and class of the error; with what was said of an answer that is one. */
const headOf = (outcome: string): string =>
  outcome.startsWith('200') ? outcome : outcome.split(' ').slice(0, 2).join(' ')

const linesOf = (file: string): number =>
  readFileSync(join(HERE, file), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('#')).length

async function startWeir(variables: Readonly<Record<string, string>>): Promise<Proxy> {
  const text = readFileSync(join(HERE, 'weir.yaml'), 'utf8')
  const gateway = await startGateway(text.replace(/\$([A-Z_0-9]+)/g, (_, name: string) => variables[name]!))
  return { base: `http://127.0.0.1:${gateway.port}`, close: () => gateway.close() }
}

async function startLitellm(python: string, variables: Readonly<Record<string, string>>): Promise<Proxy> {
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
      ...{ ...process.env, ...variables, MASTER_KEY: 'sk-master-0000000000', PYTHONDONTWRITEBYTECODE: '1' },
      ...{ LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_TELEMETRY: 'False', PYTHONPATH: HERE }
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
  return { base: `http://127.0.0.1:${port}`, close }
}

async function ofPython(python: string, base: string): Promise<Record<string, string>> {
  const child = spawn(python, [join(HERE, 'openai_calls.py'), base], {
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
