/** The gateway itself: what runs, by which configuration, towards which addresses. */

import { redact } from '#engine/admin/redact.ts'
import { jsonReply, type Reply } from '#engine/admin/server.ts'
import type { AdminState } from '#engine/admin/state.ts'
import { unexpander } from '#engine/admin/unexpand.ts'
import type { EndpointReport } from '#engine/contract/endpoint.ts'
import { redactText } from '#engine/kit/sensitive.ts'
import { z } from '#engine/schema/schema.ts'
import { type Call, type Operation, refusal } from './operation.ts'

export interface AdminGateway {
  state(): AdminState
  /** The addresses of backends, as all workers together know them. */
  endpoints(): Promise<readonly EndpointReport[]>
  /** Throws an Error with the reason when the directives are malformed. */
  setLogLevel(level: string): void
}

const TAG = 'Gateway'
const LEVEL_BYTES_MAX = 4096

const instant = () => z.iso.datetime()
const lastErrorSchema = () =>
  z
    .strictObject({ at: instant(), message: z.string() })
    .nullable()
    .describe('Why the last configuration that was offered is not in force; null: it is.')
const workerSchema = () =>
  z.strictObject({
    id: z.int(),
    state: z.enum(['starting', 'serving', 'draining', 'stopped']),
    startedAt: instant()
  })

const statusSchema = () =>
  z.strictObject({
    program: z.strictObject({ version: z.string(), startedAt: instant() }),
    isReady: z.boolean(),
    pending: z.array(z.string()).describe('What it waits for before it is ready.'),
    configuration: z
      .strictObject({ hash: z.string(), version: z.int().describe('Rises with every one.'), acceptedAt: instant() })
      .nullable(),
    lastError: lastErrorSchema(),
    workers: z.array(workerSchema()),
    logLevel: z.string()
  })

const configurationSchema = () =>
  z.strictObject({
    hash: z.string(),
    version: z.int(),
    acceptedAt: instant(),
    snapshot: z.looseObject({}).describe('What workers carry out: the configuration, with defaults, without secrets.')
  })

const addressSchema = () =>
  z.strictObject({
    address: z.string().describe('ip:port, or unix:path.'),
    host: z.string(),
    weight: z.int(),
    state: z.enum(['healthy', 'unreachable', 'unhealthy', 'ejected']),
    reason: z.string(),
    forMs: z.number().describe('Until it gets requests again; 0: not known.'),
    requests: z.int().describe('Under way.')
  })

const backendsSchema = () =>
  z.strictObject({
    backends: z.array(z.strictObject({ destination: z.string(), addresses: z.array(addressSchema()) }))
  })

const logging = () => z.strictObject({ level: z.string().describe('"info", "debug,upstream=trace".') })

export function gatewayOperations({ state, endpoints, setLogLevel }: AdminGateway): readonly Operation[] {
  return [
    {
      ...{ id: 'getStatus', method: 'GET', path: '/status', tag: TAG, role: 'see' },
      summary: 'What runs: the program, its workers, and which configuration is in force.',
      replies: { 200: { about: 'Now.', schema: statusSchema() } },
      answer: () => jsonReply(200, statusOf(state()))
    },
    {
      ...{ id: 'getConfiguration', method: 'GET', path: '/configuration', tag: TAG, role: 'see' },
      summary: 'The configuration in force, without its secrets.',
      replies: { 200: { about: 'As workers have it.', schema: configurationSchema() } },
      refusals: { 409: 'None is in force yet.' },
      answer: () => showConfiguration(state())
    },
    {
      ...{ id: 'listBackends', method: 'GET', path: '/backends', tag: TAG, role: 'see' },
      summary: 'Addresses of backends, and whether they get requests.',
      replies: { 200: { about: 'The view of all workers together.', schema: backendsSchema() } },
      answer: async () => jsonReply(200, { backends: await endpoints() })
    },
    {
      ...{ id: 'getLogging', method: 'GET', path: '/logging', tag: TAG, role: 'see' },
      summary: 'What is logged.',
      replies: { 200: { about: 'The directives in force.', schema: logging() } },
      answer: () => jsonReply(200, { level: state().logLevel })
    },
    {
      ...{ id: 'setLogging', method: 'PUT', path: '/logging', tag: TAG, role: 'change' },
      summary: 'Changes what is logged, until the next configuration.',
      body: { schema: logging(), bytesMax: LEVEL_BYTES_MAX },
      replies: { 200: { about: 'The directives in force.', schema: logging() } },
      answer: (call) => changeLogging(call, setLogLevel, state)
    }
  ]
}

function statusOf({ version, startedAt, snapshot, lastError, workers, pending, logLevel }: AdminState) {
  return {
    program: { version, startedAt },
    isReady: pending.length === 0,
    pending,
    configuration:
      snapshot === null ? null : { hash: snapshot.hash, version: snapshot.version, acceptedAt: snapshot.acceptedAt },
    lastError: shownError(lastError),
    workers,
    logLevel
  }
}

export const shownError = (error: AdminState['lastError']) =>
  error === null ? null : { at: error.at, message: redactText(error.message) }

function showConfiguration({ snapshot, expanded }: AdminState): Reply {
  if (snapshot === null) return refusal(409, 'NOT_READY', 'no configuration is in force yet')
  const { hash, version, acceptedAt } = snapshot
  return jsonReply(200, { hash, version, acceptedAt, snapshot: redact(snapshot, unexpander(expanded)) })
}

function changeLogging({ body }: Call, setLogLevel: AdminGateway['setLogLevel'], state: AdminGateway['state']): Reply {
  const wanted = logging().safeParse(body)
  if (!wanted.success) return refusal(400, 'INVALID', 'the body must be {"level": "info"} and nothing else', 'level')
  try {
    setLogLevel(wanted.data.level)
  } catch (error) {
    return refusal(400, 'INVALID', error instanceof Error ? error.message : 'malformed level', 'level')
  }
  return jsonReply(200, { level: state().logLevel })
}
