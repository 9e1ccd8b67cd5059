/** How long streams of models may be silent. Neither the specification nor agentgateway has a field for it. */
import type { AiBackend } from '#backends/llm/config/snapshot.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { duration } from '#engine/schema/duration.ts'
import { whole } from '#engine/schema/schema.ts'

/** WHATWG HTML, section 9.2.7: "every 15 seconds or so". */
const KEEPALIVE_MS = 15_000
/** Models that think without a word for minutes are no fault. */
const STALL_MS = 300_000

/** Each of them is paid for what was said before, once more. */
const CONTINUATIONS_MAX = 5

export const streams = () =>
  atLeastOne({
    keepalive: duration().optional().describe('Silence after which a client gets a comment. Default 15s; 0s: never.'),
    stall: duration().optional().describe('Silence of a provider that ends its stream. Default 5m; 0s: never.'),
    continue: whole(0, CONTINUATIONS_MAX)
      .optional()
      .describe('How often a stream that breaks is gone on with by another provider that can. Default 0: never.')
  })

export interface FileStreams {
  readonly keepalive?: number | undefined
  readonly stall?: number | undefined
  readonly continue?: number | undefined
}

export function silenceOf({ keepalive = KEEPALIVE_MS, stall = STALL_MS }: FileStreams = {}): AiBackend['silence'] {
  return { keepaliveMs: keepalive, stallMs: stall }
}

/** Undefined: never. */
export const continuationsOf = ({ continue: times = 0 }: FileStreams = {}): AiBackend['continuations'] =>
  times === 0 ? undefined : times
