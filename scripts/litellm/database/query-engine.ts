/**
 * Prisma's query engine for the PyPI package `prisma`, run as its program would be. That program is to be had from
 * binaries.prisma.sh alone; npm's @prisma/client has the same engine in the same version, as WebAssembly. It reads JSON
 * where that package writes GraphQL: graphql.ts turns one into the other. SQL is the engine's own.
 * Arguments: the folder of package.json, as installed; then those of the program.
 * Variables: DATABASE_URL, PRISMA_DML_PATH.
 */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { instantiate } from '#engine/http/webassembly.ts'
import { type Query, queryOf } from './graphql.ts'

interface Engine {
  connect(trace: string): Promise<void>
  query(text: string, trace: string, transaction?: string): Promise<string>
  startTransaction(text: string, trace: string): Promise<string>
  commitTransaction(id: string, trace: string): Promise<string>
  rollbackTransaction(id: string, trace: string): Promise<string>
}

interface Bindings {
  QueryEngine: new (options: object, log: () => void, adapter: unknown) => Engine
  __wbg_set_wasm(exports: object): void
}

interface Pool {
  query(...args: readonly unknown[]): Promise<{ readonly fields?: readonly { dataTypeID: number }[] }>
}

interface Answer {
  readonly data?: Readonly<Record<string, unknown>>
  readonly errors?: unknown
  readonly batchResult?: readonly Answer[]
}

const NO_TRACE = '{}'
/** PostgreSQL's `name` and lists of it, which the adapter does not know, are `text` for it. */
const TYPES = new Map([
  [19, 25],
  [1003, 1009]
])
const CONNECTIONS_MAX = 5

async function started(folder: string): Promise<Engine> {
  const require = createRequire(join(folder, 'package.json'))
  const runtime = join(dirname(require.resolve('@prisma/client/package.json')), 'runtime')
  const bindings = require(join(runtime, 'query_engine_bg.postgresql.js')) as Bindings
  const code = readFileSync(join(runtime, 'query_engine_bg.postgresql.wasm'))
  bindings.__wbg_set_wasm(instantiate<object>(code, { './query_engine_bg.js': bindings }))
  const { Pool: PoolOf } = require('pg') as { Pool: new (options: object) => Pool }
  const { PrismaPg } = require('@prisma/adapter-pg') as { PrismaPg: new (pool: Pool) => unknown }
  const { bindAdapter } = require('@prisma/driver-adapter-utils') as { bindAdapter: (adapter: unknown) => unknown }
  const pool = new PoolOf({ connectionString: process.env.DATABASE_URL, max: CONNECTIONS_MAX })
  const ask = pool.query.bind(pool)
  pool.query = async (...args) => {
    const result = await ask(...args)
    for (const field of result.fields ?? []) field.dataTypeID = TYPES.get(field.dataTypeID) ?? field.dataTypeID
    return result
  }
  const options = {
    datamodel: readFileSync(process.env.PRISMA_DML_PATH!, 'utf8'),
    ...{ logLevel: 'error', logQueries: false, enableTracing: false, ignoreEnvVarErrors: false },
    ...{ datasourceOverrides: {}, env: process.env, configDir: '.', engineProtocol: 'json' }
  }
  const engine = new bindings.QueryEngine(options, () => {}, bindAdapter(new PrismaPg(pool)))
  await engine.connect(NO_TRACE)
  return engine
}

/** JSON names the types of values; GraphQL has the values alone. */
function withoutTypes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTypes)
  if (typeof value !== 'object' || value === null) return value
  if ('$type' in value) return withoutTypes((value as { readonly value?: unknown }).value)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutTypes(one)]))
}

interface Rows {
  readonly types?: readonly string[]
  readonly rows: readonly unknown[][]
}

/** JSON of a column is text in the answers of this engine, and a value in those of the program. */
function withJson(result: Rows): Rows {
  const { types, rows } = result
  if (types === undefined) return result
  const read = (value: unknown, i: number): unknown =>
    types[i] === 'json' && typeof value === 'string' ? (JSON.parse(value) as unknown) : value
  return { ...result, rows: rows.map((row) => row.map(read)) }
}

function toGraphql(answer: Answer): object {
  if (answer.batchResult !== undefined) return { batchResult: answer.batchResult.map(toGraphql) }
  const [found] = Object.entries(answer.data ?? {})
  if (answer.errors !== undefined || found === undefined) return answer
  const [name, value] = found
  return { data: { result: name === 'queryRaw' ? withJson(value as Rows) : withoutTypes(value) } }
}

/** Names of fields that are JSON, by model. */
const jsonFields = (datamodel: string): ReadonlyMap<string, ReadonlySet<string>> =>
  new Map(
    [...datamodel.matchAll(/^model (\w+) \{(.*?)^\}/gms)].map(([, name, body]) => [
      name!,
      new Set([...body!.matchAll(/^\s*(\w+)\s+Json\b/gm)].map(([, field]) => field!))
    ])
  )

/** JSON is text in GraphQL, and text with its type in JSON: without that the text itself would be the value. */
function withTypes(query: Query, fields: ReadonlyMap<string, ReadonlySet<string>>): Query {
  const own = fields.get(query.modelName ?? '')
  if (own === undefined) return query
  const typed = (value: unknown, name = ''): unknown => {
    if (typeof value === 'string' && own.has(name)) return { $type: 'Json', value }
    if (Array.isArray(value)) return value.map((one) => typed(one))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, typed(one, key)]))
  }
  return { ...query, query: { ...query.query, arguments: typed(query.query.arguments) as Query['query']['arguments'] } }
}

async function answerOf(
  engine: Engine,
  fields: ReadonlyMap<string, ReadonlySet<string>>,
  [path, text, transaction]: readonly [path: string, text: string, transaction?: string]
): Promise<string> {
  if (path === '/status') return JSON.stringify({ status: 'ok' })
  const [, id, verb] = /^\/transaction\/([^/]+)(?:\/(commit|rollback))?$/.exec(path) ?? []
  if (id === 'start') return engine.startTransaction(text, NO_TRACE)
  if (id !== undefined && verb === 'commit') return engine.commitTransaction(id, NO_TRACE)
  if (id !== undefined) return engine.rollbackTransaction(id, NO_TRACE)
  const body = JSON.parse(text) as {
    readonly query: string
    readonly batch?: readonly { readonly query: string }[]
    readonly transaction?: boolean
  }
  const { batch } = body
  const read = (one: string): Query => withTypes(queryOf(one), fields)
  const inOne = body.transaction === true ? { transaction: {} } : {}
  const query = batch === undefined ? read(body.query) : { batch: batch.map((one) => read(one.query)), ...inOne }
  return JSON.stringify(
    toGraphql(JSON.parse(await engine.query(JSON.stringify(query), NO_TRACE, transaction)) as Answer)
  )
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

async function serve(folder: string, args: readonly string[]): Promise<void> {
  if (args.includes('--version')) return console.log('query-engine 393aa359c9ad4a4bb28630fb5613f9c281cde053')
  const engine = await started(folder)
  const fields = jsonFields(readFileSync(process.env.PRISMA_DML_PATH!, 'utf8'))
  const server = createServer((request, response) => {
    const transaction = request.headers['x-transaction-id'] as string | undefined
    textOf(request)
      .then((text) =>
        answerOf(engine, fields, transaction === undefined ? [request.url!, text] : [request.url!, text, transaction])
      )
      .then(
        (text) => response.writeHead(200, { 'content-type': 'application/json' }).end(text),
        (error: unknown) => response.writeHead(500).end(String(error))
      )
  })
  server.listen(Number(args[args.indexOf('-p') + 1]), 'localhost')
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(0))
}

const [folder, ...args] = process.argv.slice(2)
await serve(folder!, args)
