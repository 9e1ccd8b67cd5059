import type { z } from './schema.ts'
import { onlyInFiles } from './spelling.ts'

/**
 * The one table of neutral words (docs/naming.md#names-of-products): the specification avoids names of vendors, users
 * know the real ones. Real names are canonical; the neutral ones are understood wherever one is read, and so is what
 * the closest peer's file calls a thing.
 */
export const REAL_NAMES: Readonly<Record<string, string>> = {
  typeA: 'openai',
  openAI: 'openai',
  typeAHosted: 'azureopenai',
  typeB: 'anthropic',
  typeC: 'gemini',
  typeCCloud: 'vertexai',
  typeD: 'bedrock',
  typeAModeration: 'openAIModeration',
  cloudC: 'gcp',
  cloudD: 'aws',
  IdpA: 'Auth0',
  IdpB: 'Keycloak'
}

/** The canonical name of a word: the real name of a neutral one, any other word itself. */
export function realName(word: string): string {
  return Object.hasOwn(REAL_NAMES, word) ? REAL_NAMES[word]! : word
}

/** Words of other gateways, which the specification has not: files may have them. */
const PEERS = new Set(['openAI'])

/** A canonical name with its neutral words. */
export function namesOf(real: string): string[] {
  return [real, ...Object.keys(REAL_NAMES).filter((word) => REAL_NAMES[word] === real && !PEERS.has(word))]
}

/** `shape`, where each key may also be its neutral word. Readers of the output call realKeys. */
export function withNeutralNames<S extends Readonly<Record<string, z.ZodOptional>>>(shape: S): S {
  const neutral = Object.entries(REAL_NAMES).flatMap(([word, real]) => {
    const schema = shape[real]
    if (schema === undefined) return []
    return [[word, PEERS.has(word) ? onlyInFiles(schema.clone()) : schema] as const]
  })
  return { ...shape, ...Object.fromEntries(neutral) }
}

/** The same with canonical keys. */
export function realKeys<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [realName(key), inner])) as T
}
