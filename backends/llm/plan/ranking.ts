/**
 * Which of the equal providers of a group is asked (docs/routing.md). What is known of them is what this worker has
 * seen: an estimate, for which no other thread is asked.
 */
import { hash } from 'node:crypto'
import type { AiRanking } from '#backends/llm/config/snapshot.ts'
import { providerModel } from '#backends/llm/request/provider-request.ts'
import { outputTokensMax } from '#backends/llm/usage/spending.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Picos } from '#engine/kit/money.ts'
import type { Attempts } from './attempts.ts'
import { betterOf, type ProviderSlot } from './balancer.ts'
import type { ProviderRuntime } from './provider-runtime.ts'
import { keyReader, promptPrefix } from './routing-key.ts'

type Slot = ProviderSlot<ProviderRuntime>

/** The one of `slots`, of which there is one at least, that is asked. */
export interface Choose {
  (slots: readonly Slot[]): Slot
  /** Of `consistentHash`: the request has no key to go by. */
  readonly isKeyless?: true
}

/** Made once per exchange, by the request as it came. */
export type Ranking = (ex: Exchange, state: Attempts) => Choose

/** Of a provider with a request more than its share. Envoy and HAProxy recommend 1.25 to 2. */
const BALANCE_FACTOR = 1.25
/** Where the client sets no limit: how long answers are as a rule decides, not how long they might be. */
const OUTPUT_TOKENS_USUAL = 512
const BYTES_PER_TOKEN = 4

/** Undefined: providers are compared by latency and load. `random`: 0 <= x < 1. */
export function compileRanking(ranking: AiRanking | undefined, random: () => number): Ranking | undefined {
  switch (ranking?.kind) {
    case 'cost':
      return (ex, state) => (slots) => cheapest(slots, ex, state, random)
    case 'latency': {
      const { explore } = ranking
      return () => (slots) => (random() < explore ? anyOf(slots, random) : fastest(slots, random))
    }
    case 'leastBusy':
      return () => (slots) => leastBusy(slots, random)
    case 'consistentHash': {
      const { key, prefixChars } = ranking
      const read = key === null ? null : keyReader(key)
      // What has no key goes where there is room.
      const keyless = Object.assign((slots: readonly Slot[]) => leastBusy(slots, random), { isKeyless: true as const })
      return (ex, state) => {
        const text = read === null ? promptPrefix(state.chat, prefixChars) : read(ex)
        if (text === null) return keyless
        const digest = hash('sha1', text)
        return (slots) => owner(slots, digest)
      }
    }
    case undefined:
      return undefined
  }
}

function leastBusy(slots: readonly Slot[], random: () => number): Slot {
  return anyOf(
    lowest(slots, ({ health }) => health.pending),
    random
  )
}

/** Without a price behind all that have one: an unknown price is not a low one. */
function cheapest(slots: readonly Slot[], ex: Exchange, state: Attempts, random: () => number): Slot {
  const bytes = ex.requestBytes?.length ?? 0
  const priceOf = (slot: Slot): number => usualCost(slot, bytes, state) ?? Number.POSITIVE_INFINITY
  return betterOf(lowest(slots, priceOf), random)
}

/** Of the request at a provider; `bytes`: of its body, as it came. Null: there is no price. */
export function usualCost(
  { provider: { prices, settings, aliases } }: Slot,
  bytes: number,
  state: Attempts
): Picos | null {
  const requested = state.chat?.model ?? ''
  if (requested === '' && settings.model === null) return null
  const input = Math.ceil(bytes / BYTES_PER_TOKEN)
  const output = outputTokensMax(state, OUTPUT_TOKENS_USUAL)
  return prices.usual(providerModel(requested, settings.model, aliases), input, output)
}

/** One that was never measured is as good as the best: it is asked once, and measured by that. */
function fastest(slots: readonly Slot[], random: () => number): Slot {
  return anyOf(
    lowest(slots, ({ health }) => health.firstTokenMs),
    random
  )
}

/** Rendezvous: each key has an order of all providers of its own, so that one that leaves moves its own keys alone. */
function owner(slots: readonly Slot[], digest: string): Slot {
  const limit = shareOf(slots)
  const free = slots.filter(({ health }) => health.pending < limit)
  return lowest(free, ({ provider }) => -fnv(`${digest} ${provider.settings.name}`))[0]!
}

/** Calls under way that are too many for one of `slots`. */
function shareOf(slots: readonly Slot[]): number {
  const total = slots.reduce((sum, { health }) => sum + health.pending, 0)
  return Math.ceil((BALANCE_FACTOR * (total + 1)) / slots.length)
}

export const isOverShare = ({ health }: Slot, slots: readonly Slot[]): boolean => health.pending >= shareOf(slots)

function lowest(slots: readonly Slot[], of: (slot: Slot) => number): readonly Slot[] {
  let best = Number.POSITIVE_INFINITY
  let found: Slot[] = []
  for (const slot of slots) {
    const value = of(slot)
    if (value < best) {
      best = value
      found = [slot]
    } else if (value === best) found.push(slot)
  }
  return found
}

const anyOf = (slots: readonly Slot[], random: () => number): Slot => slots[Math.floor(random() * slots.length)]!

/** FNV-1a of 32 bits, finished as MurmurHash3 does: without that, texts that differ at their end alone stay close. */
export function fnv(text: string): number {
  let sum = 0x81_1c_9d_c5
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01_00_01_93)
  sum = Math.imul(sum ^ (sum >>> 16), 0x85_eb_ca_6b)
  sum = Math.imul(sum ^ (sum >>> 13), 0xc2_b2_ae_35)
  return (sum ^ (sum >>> 16)) >>> 0
}
