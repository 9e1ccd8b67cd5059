/**
 * What servers have declared (2025-11-25, basic/lifecycle, Capability Negotiation): none is asked for what it does not
 * have, since some answer that with an error that is not "method not found", or with nothing at all.
 */

import { LISTS } from '#backends/mcp/lists/kinds.ts'
import type { JsonObject } from './json-rpc.ts'

/** In this order they are the bits of a session's seal: new ones go to the end. */
const KINDS: readonly string[] = [
  'tools',
  'prompts',
  'resources',
  'completions',
  'logging',
  'tasks',
  'extensions',
  'experimental'
]

const NEEDED: ReadonlyMap<string, string> = new Map([
  ...[...LISTS].map(([method, { capability }]): [string, string] => [method, capability]),
  ['logging/setLevel', 'logging']
])

/** One bit for each kind; 0: the server says nothing of what it can, as some do that can a lot. */
export function capabilityBits(capabilities: JsonObject): number {
  let bits = 0
  for (const [i, kind] of KINDS.entries()) if (capabilities[kind] !== undefined) bits |= 1 << i
  return bits
}

/** Whether a server that has declared so much lacks `method`; null: its capabilities are unknown. */
export function lacksCapability(declared: number | null, method: string): boolean {
  const needed = NEEDED.get(method)
  return needed !== undefined && isDeclared(declared) && !has(declared, needed)
}

/** Whether a method that the gateway does not know may be one of the server's. */
export const mayExtend = (declared: number | null): boolean =>
  !isDeclared(declared) || has(declared, 'extensions') || has(declared, 'experimental')

const isDeclared = (declared: number | null): declared is number => declared !== null && declared !== 0

const has = (declared: number, kind: string): boolean => (declared & (1 << KINDS.indexOf(kind))) !== 0
