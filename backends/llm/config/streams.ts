/** How long streams of models may be silent. Neither the specification nor agentgateway has a field for it. */
import type { AiBackend } from '#backends/llm/config/snapshot.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { duration } from '#engine/schema/duration.ts'

/** WHATWG HTML, section 9.2.7: "every 15 seconds or so". */
const KEEPALIVE_MS = 15_000
/** Models that think without a word for minutes are no fault. */
const STALL_MS = 300_000

export const streams = () =>
  atLeastOne({
    keepalive: duration().optional().describe('Silence after which a client gets a comment. Default 15s; 0s: never.'),
    stall: duration().optional().describe('Silence of a provider that ends its stream. Default 5m; 0s: never.')
  })

interface FileStreams {
  readonly keepalive?: number | undefined
  readonly stall?: number | undefined
}

export function silenceOf({ keepalive = KEEPALIVE_MS, stall = STALL_MS }: FileStreams = {}): AiBackend['silence'] {
  return { keepaliveMs: keepalive, stallMs: stall }
}
