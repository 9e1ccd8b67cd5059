/**
 * Expressions: ten rules as gateways have them, on engine/cel and on the two best-known libraries in the
 * same run. Every library gets plain data; Weir also reads it lazily (a header map that finds its names).
 */
import { parse as bufParse, plan as bufPlan, CelScalar, celEnv, celFunc } from '@bufbuild/cel'
import { Environment } from '@marcbachmann/cel-js'
import type { Bench } from 'tinybench'
import { CelError, compile, type Roots, type Value } from '#engine/cel/index.ts'

/** Calls per sample: one call is shorter than the clock can tell. Tests ask for fewer. */
const BATCH = Number(process.env.WEIR_BENCH_BATCH ?? 1000)
/** Bodies that are read in turn, so that no result of json() is found again. */
const BODIES = 4

export const EXPRESSIONS: Readonly<Record<string, string>> = {
  'claim and tool list': `jwt.sub == 'alice' && mcp.tool.name in ['list', 'get', 'search']`,
  'header prefix': `request.headers['x-foo'].startsWith('b')`,
  'path regex': `request.path.matches('^/api/v[0-9]+/users/[^/]+$')`,
  'exists over groups': `jwt.groups.exists(g, g.startsWith('team-') && g.endsWith('-admin'))`,
  // Another body every time: nearly all of it is V8's JSON.parse, in each library.
  'json body': `json(request.body).model == 'gpt-4o'`,
  concatenation: `'user=' + jwt.sub + ';method=' + request.method`,
  'has and nested': `has(jwt.nested.key) && jwt.nested.key == 'v'`,
  'error absorbed': `jwt.missing == 'x' || request.method == 'POST'`,
  'filter and map': `jwt.groups.filter(g, g.startsWith('team-')).map(g, g + '!')`,
  'number and size': `jwt.exp > 1700000000 && size(jwt.groups) < 10`
}

const ROOTS: Roots = {
  request: {
    type: 'map',
    fields: {
      method: { type: 'string' },
      path: { type: 'string' },
      headers: { type: 'map' },
      body: { type: 'string' }
    }
  },
  jwt: { type: 'map' },
  mcp: { type: 'map', fields: { tool: { type: 'map', fields: { name: { type: 'string' } } } } }
}

/** Declarations of variables that the other libraries need. */
const NAMES = Object.keys(ROOTS)

function contextOf(i: number): Record<string, Value> {
  const headers = Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`x-header-${n}`, `value ${n}`]))
  const messages = [{ role: 'user', content: `Hello ${i}, please say something about the weather in Paris today.` }]
  return {
    request: {
      method: 'POST',
      path: '/api/v1/users/alice',
      headers: { ...headers, 'x-foo': 'bar' },
      body: JSON.stringify({ model: 'gpt-4o', stream: true, temperature: 0.5, messages })
    },
    jwt: {
      sub: 'alice',
      groups: ['staff', 'team-blue', 'team-red-admin', 'oncall'],
      nested: { key: 'v' },
      exp: 1_900_000_000
    },
    mcp: { tool: { name: 'get' } }
  }
}

const CONTEXTS = Array.from({ length: BODIES }, (_, i) => contextOf(i))

type Evaluate = (context: Record<string, Value>) => unknown

function weir(source: string): Evaluate {
  const compiled = compile(source, { roots: ROOTS })
  if (!compiled.ok) throw new Error(compiled.problems[0]!.message)
  const { program } = compiled
  return (context) => program.run(context)
}

function bufbuild(): (source: string) => Evaluate {
  const json = celFunc('json', [CelScalar.STRING], CelScalar.DYN, (text) => JSON.parse(text) as never)
  const env = celEnv({ funcs: [json] })
  return (source) => bufPlan(env, bufParse(source)) as Evaluate
}

function marcbachmann(): (source: string) => Evaluate {
  const env = new Environment()
  for (const name of NAMES) env.registerVariable(name, 'map')
  env.registerFunction('json(string): dyn', (text: string) => JSON.parse(text) as unknown)
  return (source) => {
    const run = env.parse(source)
    // It throws where others answer an error.
    return (context) => run(context)
  }
}

export const LIBRARIES: Readonly<Record<string, (source: string) => Evaluate>> = {
  weir,
  bufbuild: bufbuild(),
  marcbachmann: marcbachmann()
}

export function register(bench: Bench): void {
  for (const [what, source] of Object.entries(EXPRESSIONS)) {
    for (const [library, make] of Object.entries(LIBRARIES)) add(bench, `${what}, ${library}`, make(source))
  }
  add(bench, 'json body again, weir', weir(EXPRESSIONS['json body']!), CONTEXTS.slice(0, 1))
  add(bench, 'json parse alone, v8', (context) => JSON.parse(bodyOf(context)))
  for (const [library, make] of Object.entries(LIBRARIES)) addCompile(bench, library, make)
}

function bodyOf(context: Record<string, Value>): string {
  return (context.request as { readonly body: string }).body
}

function add(bench: Bench, what: string, evaluate: Evaluate, contexts = CONTEXTS): void {
  bench.add(`cel: ${what}`, () => {
    let failed = 0
    const start = performance.now()
    for (let i = 0; i < BATCH; i++) if (evaluate(contexts[i % contexts.length]!) instanceof CelError) failed++
    const ms = performance.now() - start
    if (failed > 0) throw new Error(`${what}: no result`)
    return { overriddenDuration: ms / BATCH }
  })
}

/** All ten in turn: one rule is not compiled a thousand times. */
function addCompile(bench: Bench, library: string, make: (source: string) => Evaluate): void {
  const sources = Object.values(EXPRESSIONS)
  bench.add(`cel: compile, ${library}`, () => {
    const start = performance.now()
    for (let i = 0; i < BATCH; i++) make(sources[i % sources.length]!)
    return { overriddenDuration: (performance.now() - start) / BATCH }
  })
}
