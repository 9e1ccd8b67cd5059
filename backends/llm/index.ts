/**
 * Backends that are LLM providers. The files, in the order of one call:
 *
 *   models-backend.ts               `llm`: the model that a request names decides which backend serves it
 *   backend.ts                      `ai`: one backend, from the request to the end of the answer
 *   routes/index.ts                 the path says what is asked: chat, or an operation such as embeddings
 *   guards/guards.ts                prompt guards judge the request (later the answer: guard-tap.ts, guard-body.ts)
 *   request/chat-request.ts         the body is parsed; a large one in the pool (offload/)
 *   plan/balancer.ts                chooses a provider slot; plan/attempts.ts is what is remembered between attempts
 *   plan/request-writer.ts          writes the request for it: edits/, then plan/request-plan.ts,
 *   request/provider-request.ts     then translate/rewrites.ts and formats/<format>/ if it speaks another format
 *   auth/compile.ts                 puts a key, a token or a signature into it
 *   plan/failover.ts                an attempt that fails is followed by another (stream/first-event.ts looks ahead)
 *   answer/answers.ts               decides what becomes of the answer: answer/whole-answer.ts translates it,
 *   stream/client-tap.ts            or taps do as it streams: stream/native-tap.ts, stream/translating-tap.ts
 *   usage/usage-record.ts           what it has cost, for limits, logs and metrics
 *
 * conversation.ts is what all formats are read into and written from; formats/format.ts what a format has to offer;
 * providers/kind.ts the row of a provider, providers/provider.ts what is read of it per request; capabilities.ts what
 * providers can do beside chat.
 */
import type { BackendKind } from '#engine/contract/backend.ts'
import { aiBackend } from './backend.ts'
import { modelsBackend } from './models-backend.ts'

export const llmBackends: readonly BackendKind[] = [aiBackend, modelsBackend]
