/**
 * Expressions over bodies that could hold the event loop run in a helper thread, when this body makes them
 * expensive. docs/design/007-cel.md has the threshold and its measurement.
 */
import { performance } from 'node:perf_hooks'
import { clientKey } from '#engine/contract/client-key.ts'
import type { Filter } from '#engine/contract/filter.ts'
import type { ModelContent, ModelUse } from '#engine/contract/model-use.ts'
import { keepRequestId, requestIdOf } from '#engine/contract/request-id.ts'
import type { TraceIds } from '#engine/contract/tracing.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { SHARED_BYTES, textBytes } from '#engine/kit/shared-bytes.ts'
import type { Facts } from './exchange.ts'
import {
  EXT_AUTHZ,
  EXT_PROC,
  LOG_ROOTS,
  METADATA,
  REQUEST_ROOTS,
  RESPONSE_ROOTS,
  routingOf,
  traceIdsOf
} from './exchange.ts'
import { compileExpression, type Expression } from './expression.ts'
import { CelError, type Needs, toJson, type Value, type Wanted } from './index.ts'
import { type PackedContent, packContent, readsContent, unpackContent } from './offload-content.ts'
import { showReads } from './show-reads.ts'

/** Where the expression runs: which variables there are. */
export type Phase = 'request' | 'response' | 'log'

const ROOTS = { request: REQUEST_ROOTS, response: RESPONSE_ROOTS, log: LOG_ROOTS } as const

/** The job's name in the pool. */
export const CEL_JOB = 'cel'

/** Everything that the other thread needs, ready to be cloned. */
export interface CelJob {
  readonly source: string
  readonly phase: Phase
  readonly facts: PackedFacts
  /** The value becomes a body: text comes back as its bytes. */
  readonly wantsBytes: boolean
}

/** Plain data in, plain data out: what is no JSON value comes back as its JSON. */
export type CelOutcome =
  | { readonly value: string | number | boolean | null | Uint8Array }
  | { readonly json: string }
  | { readonly error: string }

export type PackedFacts = Omit<Facts, 'request' | 'response' | 'llm' | 'slots'> & {
  readonly metadata: Record<string, unknown> | null
  /** Null: no expression reads it. */
  readonly requestId: string | null
  readonly extauthz: Readonly<Record<string, unknown>> | null
  readonly extproc: Readonly<Record<string, unknown>> | null
  readonly llm: (Omit<ModelUse, 'content'> & { readonly content: PackedContent }) | null
  /** Flat: name, value, ... */
  readonly requestLines: readonly string[]
  readonly responseLines: readonly string[] | null
}

/** Runs `job` where it has time, in the turn of `client`. Rejects when too much is waiting. */
export type RunJob = (name: string, job: unknown, client: string) => Promise<unknown>

/** A compiled expression and where it runs. */
export interface Evaluation {
  readonly program: Expression
  readonly phase: Phase
  /** Only then may `waits` be true. */
  readonly mayWait: boolean
  /** What it reads of `ex` is so much that `run` returns a promise. */
  waits(ex: Facts): boolean
  run(ex: Facts): Value | Promise<Value>
}

/** `wantsBytes`: the value becomes a body, and may come as its bytes instead of a text. */
export function evaluation(
  source: string,
  phase: Phase,
  wanted: Wanted,
  offload: RunJob,
  wantsBytes = false
): Evaluation {
  const program = compileExpression(source, ROOTS[phase], wanted)
  const { needs, cost } = program
  const asksModels = phase !== 'request' && readsContent(needs)
  const mayWait = needs.anyBody || asksModels
  if (!mayWait) return { program, phase, mayWait, waits: () => false, run: (ex) => program.run(ex) }
  const waits = (ex: Facts): boolean => {
    if (asksModels && ex.llm?.content?.elsewhere() != null) return true
    if (!needs.anyBody) return false
    const bytes = lengthOf(ex.requestBytes ?? ex.requestPrefix) + lengthOf(ex.responseBytes ?? ex.responsePrefix)
    // Whatever is asked of it: to make it a text takes 2 ms for each MiB.
    return bytes > SHARED_BYTES || cost.mayBeExpensive(bytes)
  }
  return {
    program,
    phase,
    mayWait,
    waits,
    run: (ex) => (waits(ex) ? runElsewhere({ program, phase, wantsBytes }, ex, offload) : program.run(ex))
  }
}

function lengthOf(bytes: Buffer | null): number {
  return bytes === null ? 0 : bytes.length
}

/** The expression with what it has read of `ex`, for the log. */
export function showEvaluation({ program, phase }: Evaluation, ex: Facts): string {
  return showReads(program, ROOTS[phase], ex)
}

/** What a filter with these expressions has to wait for (Filter.buffers). */
export function bodiesOf(programs: readonly Expression[]): NonNullable<Filter['buffers']> {
  const some = (ask: (needs: Needs) => boolean) => programs.some(({ needs }) => ask(needs))
  const request = some((needs) => needs.requestBody) || (some((needs) => needs.requestPrefix) && 'prefix')
  const response = some((needs) => needs.responseBody) || (some((needs) => needs.responsePrefix) && 'prefix')
  return { ...(request === false ? {} : { request }), ...(response === false ? {} : { response }) }
}

interface OffloadedRun {
  readonly program: Expression
  readonly phase: Phase
  readonly wantsBytes: boolean
}

async function runElsewhere({ program, phase, wantsBytes }: OffloadedRun, ex: Facts, offload: RunJob): Promise<Value> {
  const { source, needs } = program
  const job: CelJob = { source, phase, facts: pack(ex, [needs]), wantsBytes }
  let outcome: CelOutcome
  try {
    outcome = (await offload(CEL_JOB, job, clientKey(ex))) as CelOutcome
  } catch (error) {
    // Too much is waiting, or the helper died: to the caller the expression has failed.
    return new CelError('failed', error instanceof Error ? error.message : String(error))
  }
  if ('error' in outcome) return new CelError('failed', outcome.error)
  return 'json' in outcome ? (JSON.parse(outcome.json) as Value) : outcome.value
}

/** `all`: what the expressions read. */
export function pack(ex: Facts, all: readonly Needs[]): PackedFacts {
  const { client, listener, route } = ex
  const some = (ask: (needs: Needs) => boolean) => all.some(ask)
  return {
    method: ex.method,
    authority: ex.authority,
    originalPath: ex.originalPath,
    rawPath: ex.rawPath,
    query: ex.query,
    requestLines: linesOf(ex.request),
    requestBody: ex.requestBody,
    requestBytes: ex.requestBytes,
    status: ex.status,
    grpcStatus: ex.grpcStatus,
    responseLines: ex.response === null ? null : linesOf(ex.response),
    responseBody: ex.responseBody,
    responseBytes: ex.responseBytes,
    // Bytes that are not read do not travel, and those of a whole body do once.
    requestPrefix: some((needs) => needs.requestPrefix) && ex.requestBytes === null ? ex.requestPrefix : null,
    responsePrefix: some((needs) => needs.responsePrefix) && ex.responseBytes === null ? ex.responsePrefix : null,
    identity: ex.identity === null ? null : identityFor(ex.identity, all),
    metadata: METADATA.get(ex),
    requestId: some((needs) => needs.reads('request.id')) ? requestIdOf(ex) : null,
    extauthz: some((needs) => needs.reads('extauthz')) ? EXT_AUTHZ.get(ex) : null,
    extproc: some((needs) => needs.reads('extproc')) ? EXT_PROC.get(ex) : null,
    routing: some((needs) => needs.routing) ? routingOf(ex) : null,
    traceIds: idsAlone(traceIdsOf(ex)),
    backend: ex.backend,
    backendType: typeOf(ex.backendType),
    mcp: ex.mcp,
    llm: ex.llm === null ? null : { ...ex.llm, content: packContent(ex.llm.content, all) },
    // Each thread counts from its own start.
    startedAt: ex.startedAt + performance.timeOrigin,
    firstByteAt: shifted(ex.firstByteAt, performance.timeOrigin),
    servedAt: shifted(ex.servedAt, performance.timeOrigin),
    respondedAt: shifted(ex.respondedAt, performance.timeOrigin),
    client: {
      remoteAddress: client.remoteAddress,
      remotePort: client.remotePort,
      ...(some((needs) => needs.reads('destination.address')) ? { localAddress: client.localAddress ?? '' } : {}),
      localPort: client.localPort,
      httpVersion: client.httpVersion,
      tls: client.tls ?? null
    },
    listener: listener === null ? null : { name: listener.name, port: listener.port },
    route: route === null ? null : { name: route.name, rule: route.rule }
  }
}

/** The trace itself stays here. */
const idsAlone = (trace: TraceIds | null): TraceIds | null =>
  trace === null ? null : { traceId: trace.traceId, spanId: trace.spanId }

/** Credentials that are not read do not travel. */
function identityFor(
  { jwt, apiKey, basicAuth, rawToken, rawKey }: NonNullable<Facts['identity']>,
  all: readonly Needs[]
) {
  const reads = (path: string) => all.some((needs) => needs.reads(path))
  return {
    ...{ jwt, apiKey, basicAuth },
    rawToken: reads('jwt.rawToken') ? rawToken : null,
    rawKey: reads('apiKey.key') ? rawKey : null
  }
}

/** 0 stays 0: it has not happened. */
/** Without what a kind can do, which does not travel. */
const typeOf = (type: Facts['backendType']): Facts['backendType'] =>
  type === null ? null : { kind: type.kind, protocol: type.protocol }

function shifted(at: number, byMs: number): number {
  return at === 0 ? 0 : at + byMs
}

function linesOf(block: HeaderBlock): string[] {
  const lines: string[] = []
  block.forEach((name, value) => {
    lines.push(name, value)
  })
  return lines
}

// --- in the helper thread ---

/** Expressions that this thread has compiled; a configuration has a bounded number of them. */
const COMPILED_MAX = 1_000
const compiled = new Map<string, Expression>()

/** The expression that a job names. */
export function compiledFor(source: string, phase: Phase): Expression {
  const key = `${phase} ${source}`
  let program = compiled.get(key)
  if (program === undefined) {
    program = compileExpression(source, ROOTS[phase])
    if (compiled.size >= COMPILED_MAX) compiled.clear()
    compiled.set(key, program)
  }
  return program
}

/**
 * What the pool runs under CEL_JOB. `content`: what models were asked and have answered, if it was read in this thread.
 */
export function runCelJob({ source, phase, facts, wantsBytes }: CelJob, content?: ModelContent): CelOutcome {
  const value = compiledFor(source, phase).run(unpack(facts, content))
  if (value instanceof CelError) return { error: value.message }
  if (typeof value === 'string' && wantsBytes) return { value: textBytes(value) }
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return { value }
  if (typeof value === 'number' || value instanceof Uint8Array) return { value }
  const json = toJson(value)
  if (typeof json !== 'string') return { error: json instanceof CelError ? json.message : 'no JSON value' }
  // Numbers of other types, and times, are a text in JSON, which is not what they are as a body.
  return wantsBytes && /^[[{]/.test(json) ? { value: textBytes(json) } : { json }
}

export function unpack(
  { requestLines, responseLines, llm, metadata, requestId, extauthz, extproc, ...rest }: PackedFacts,
  content?: ModelContent
): Facts {
  const facts: Facts = {
    ...rest,
    slots: null,
    llm: llm === null ? null : { ...llm, content: content ?? unpackContent(llm.content) },
    startedAt: rest.startedAt - performance.timeOrigin,
    firstByteAt: shifted(rest.firstByteAt, -performance.timeOrigin),
    servedAt: shifted(rest.servedAt, -performance.timeOrigin),
    respondedAt: shifted(rest.respondedAt, -performance.timeOrigin),
    request: blockOf(requestLines),
    response: responseLines === null ? null : blockOf(responseLines),
    // Cloning makes plain byte arrays of Buffers.
    requestBytes: bufferOf(rest.requestBytes),
    responseBytes: bufferOf(rest.responseBytes),
    requestPrefix: bufferOf(rest.requestPrefix),
    responsePrefix: bufferOf(rest.responsePrefix)
  }
  if (metadata !== null) METADATA.set(facts, metadata)
  if (requestId !== null) keepRequestId(facts, requestId)
  if (extauthz !== null) EXT_AUTHZ.set(facts, extauthz)
  if (extproc !== null) EXT_PROC.set(facts, extproc)
  return facts
}

function bufferOf(bytes: Uint8Array | null): Buffer | null {
  return bytes === null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function blockOf(lines: readonly string[]): HeaderBlock {
  const block = new HeaderBlock()
  for (let i = 0; i < lines.length; i += 2) block.receive(lines[i]!, lines[i + 1]!)
  return block
}
