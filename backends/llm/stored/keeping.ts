/** What one backend needs to know of what its providers keep: their accounts, and whose ids are whose. */
import type { AiBackend, AiProvider, AiRouteType } from '#backends/llm/config/snapshot.ts'
import type { ClientFormat } from '#backends/llm/conversation.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { type RefusedRequest, TOO_DEEP } from '#backends/llm/offload/job.ts'
import { openIdsInPool, readStoredInPool } from '#backends/llm/offload/pool.ts'
import { LARGE_BYTES } from '#backends/llm/offload/threshold.ts'
import { refersTo } from '#backends/llm/routes/index.ts'
import { whenSettled } from '#backends/shared/when-settled.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { replaceRequestBody } from '#engine/contract/body.ts'
import { offloadFor } from '#engine/contract/client-key.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { bufferOf } from '#engine/kit/shared-bytes.ts'
import { openChatBytes } from './open-chat.ts'
import { storedTask } from './operation.ts'
import { mayRefer } from './references.ts'
import { StoredRefusal } from './request.ts'
import {
  hasMarks,
  type KeptIds,
  NO_KEPT_IDS,
  type Store,
  type StoreAccess,
  type StoredSettings,
  storesOf
} from './stores.ts'
import { tenantOf } from './tenant.ts'

/** Of Anthropic's requests, those whose answers have ids of what is kept: files that code has made. */
const KEEPING_TOOLS = ['"container"', 'code_execution'].map((name) => Buffer.from(name))

/** Calls `then` with what the request names, or why that cannot be. */
type Then = (kept: KeptIds | FormatError) => void

export class Keeping {
  readonly #context: BackendContext
  readonly #stores: ReadonlyMap<AiProvider, Store>
  readonly #all: readonly Store[]
  readonly #scope: AiBackend['stored']['scope']
  readonly #isClosed: boolean

  constructor(backend: AiBackend, context: BackendContext) {
    this.#context = context
    this.#stores = storesOf(backend, context.secret)
    this.#all = [...new Set(this.#stores.values())]
    this.#scope = backend.stored.scope
    this.#isClosed = backend.stored.isClosed === true
  }

  storeOf(provider: AiProvider): Store {
    return this.#stores.get(provider)!
  }

  settingsFor(ex: Exchange, kept: KeptIds = NO_KEPT_IDS): StoredSettings {
    return { ...this.#accessFor(ex), isClosed: this.#isClosed, owners: this.#context.owners, facts: kept.facts }
  }

  #accessFor(ex: Exchange): StoreAccess {
    return { stores: this.#all, tenant: tenantOf(ex, this.#scope) }
  }

  /** Ahead of all attempts. `client`: null, nothing of the body is read. */
  begin(ex: Exchange, type: AiRouteType, client: ClientFormat | null, then: Then): void {
    if (type === 'Stored') this.#read(ex, then)
    else this.#open(ex, refersTo(type) ? client : null, then)
  }

  /** Reads a large request about what is kept, in another thread. */
  #read(ex: Exchange, then: Then): void {
    const bytes = ex.requestBytes
    const job = bytes === null || bytes.length <= LARGE_BYTES ? null : storedTask(ex, this.settingsFor(ex))
    if (job === null) then(NO_KEPT_IDS)
    else {
      const { offload, fail } = this.#context
      const isOpen = () => ex.response === null && !ex.responseDone
      whenSettled(readStoredInPool(offloadFor(ex, offload), bytes!, job), isOpen, (made) => {
        if (made === null) fail(ex, 'BODY_OVERLOAD')
        else if (made.kind === 'refused') then(refusalOf(made))
        else then({ ...NO_KEPT_IDS, facts: made.facts })
      })
    }
  }

  /** Opens the ids in a chat's body. `client`: null, it is none. */
  #open(ex: Exchange, client: ClientFormat | null, then: Then): void {
    const bytes = ex.requestBytes
    // As a rule: one account, and nobody to tell apart.
    if (client === null || bytes === null || (this.#all.length === 1 && ex.identity === null)) then(NO_KEPT_IDS)
    else {
      const refers = mayRefer(bytes)
      const isMarked =
        client === 'responses' || (client === 'messages' && KEEPING_TOOLS.some((one) => bytes.includes(one)))
      const access = refers || isMarked ? this.#accessFor(ex) : null
      if (access === null || !hasMarks(access)) then(NO_KEPT_IDS)
      else if (!refers) then({ store: null, access, isAny: false })
      else if (bytes.length > LARGE_BYTES) this.#openElsewhere(ex, bytes, access, then)
      else then(openHere(ex, bytes, access))
    }
  }

  #openElsewhere(ex: Exchange, bytes: Buffer, access: StoreAccess, then: Then): void {
    const { offload, fail } = this.#context
    const isOpen = () => ex.response === null && !ex.responseDone
    whenSettled(openIdsInPool(offloadFor(ex, offload), bytes, access), isOpen, (made) => {
      if (made === null) fail(ex, 'BODY_OVERLOAD')
      else if (made.kind === 'refused') then(new FormatError(made.field, made.message))
      else {
        if (made.bytes !== null) replaceRequestBody(ex, bufferOf(made.bytes))
        then({ store: access.stores.find(({ tag }) => tag === made.tag) ?? null, access, isAny: false })
      }
    })
  }
}

function openHere(ex: Exchange, bytes: Buffer, access: StoreAccess): KeptIds | FormatError {
  try {
    const { bytes: opened, store } = openChatBytes(bytes, access)
    if (opened !== bytes) replaceRequestBody(ex, opened)
    return { store, access, isAny: false }
  } catch (error) {
    if (error instanceof FormatError) return error
    if (error instanceof RangeError) return new FormatError('', TOO_DEEP)
    throw error
  }
}

function refusalOf({ field, message, status = 400 }: RefusedRequest): FormatError {
  return status === 403 || status === 404 ? new StoredRefusal(status, message) : new FormatError(field, message)
}
