/** What stands around the parts of one exchange that its service is told: most of it once, with the first message. */
import { EXT_PROC } from '#engine/cel/exchange.ts'
import { PICKER, pickedEndpoints, SERVED } from '#engine/contract/endpoint-picker.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Metadata } from '#engine/proto/generated/envoy/config/core/v3/base.ts'
import type {
  ProcessingRequest,
  ProtocolConfiguration
} from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import { type Part, plainOf } from './message.ts'
import type { Plan } from './plan.ts'
import type { BodyMode, ProcessingModes } from './schema.ts'
import { RESPONSE, type Side } from './side.ts'

/** Under which Envoy sends attributes. */
const ATTRIBUTES = 'envoy.filters.http.ext_proc'

const BODY_MODES: Readonly<Record<BodyMode, ProtocolConfiguration['requestBodyMode']>> = {
  NONE: 0,
  STREAMED: 1,
  BUFFERED: 2,
  BUFFERED_PARTIAL: 3,
  FULL_DUPLEX_STREAMED: 4
}

function protocolOf({ request, response }: ProcessingModes): ProtocolConfiguration {
  return {
    requestBodyMode: BODY_MODES[request.body],
    responseBodyMode: BODY_MODES[response.body],
    sendBodyWithoutWaitingForHeaderResponse: false
  }
}

/** A service that has picked endpoints is told which of them has answered. */
function withServed(metadata: Metadata | undefined, ex: Exchange): Metadata | undefined {
  if (ex.endpoint === null || pickedEndpoints(EXT_PROC.get(ex)).length === 0) return metadata
  const { filterMetadata = {}, typedFilterMetadata = {} } = metadata ?? {}
  const known = filterMetadata[PICKER] ?? {}
  return { filterMetadata: { ...filterMetadata, [PICKER]: { ...known, [SERVED]: ex.endpoint } }, typedFilterMetadata }
}

export class Envelopes {
  readonly #ex: Exchange
  readonly #plan: Plan
  /** Nothing waits for the service. */
  readonly #isObserved: boolean
  #metadata: Metadata | undefined = undefined
  readonly #hasSent = { request: false, response: false }

  constructor(ex: Exchange, plan: Plan, isObserved: boolean) {
    this.#ex = ex
    this.#plan = plan
    this.#isObserved = isObserved
  }

  /** The message with `part`, which is to be sent: the next one is not the first. `modes`: those of now. */
  around(side: Side, part: Part, modes: ProcessingModes): ProcessingRequest {
    const { request, response } = this.#hasSent
    const isFirst = !request && !response
    if (isFirst) this.#metadata = this.#plan.metadataOf(this.#ex)
    if (side === RESPONSE && !response) this.#metadata = withServed(this.#metadata, this.#ex)
    const attributes = this.#hasSent[side.name] ? {} : this.#attributes(side)
    this.#hasSent[side.name] = true
    return {
      request: part,
      metadataContext: this.#metadata,
      attributes,
      observabilityMode: this.#isObserved,
      protocolConfig: isFirst ? protocolOf(modes) : undefined
    }
  }

  #attributes(side: Side): ProcessingRequest['attributes'] {
    const { attributes, failed } = this.#plan
    const values = attributes[side.name]
    return values.length === 0 ? {} : { [ATTRIBUTES]: plainOf(this.#ex, values, failed) }
  }
}
