/** A provider as index.ts registers it: how a file says it, what the Snapshot has of that, and what workers compile. */

import type { Authenticator } from '#backends/llm/auth/authenticator.ts'
import type { AiAuth, AiCloud, AiProvider } from '#backends/llm/config/snapshot.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { KeyAuth } from '#engine/contract/backend-auth/auth.ts'
import type { z } from '#engine/schema/schema.ts'
import type { DialectName } from './compatible.ts'
import type { Makers } from './fields.ts'
import type { Provider } from './provider.ts'

/**
 * `Fields`: validated, as `schema` gives them. `Cloud`: plain data that the Snapshot has of them. `Credentials`: what
 * the provider's own authenticator gets.
 */
export interface ProviderKind<Fields = unknown, Cloud extends AiCloud | null = AiCloud | null, Credentials = unknown> {
  /** Its key in a file, and its type in the Snapshot. */
  readonly name: string
  readonly description?: string
  schema(make: Makers): z.ZodType
  /** It has no host of its own: the file says one. */
  readonly needsHost?: true
  /** It is asked in chat completions, of which servers have dialects (compatible.ts). */
  readonly hasDialect?: true
  /** The one of it, whatever its host. */
  readonly dialect?: DialectName
  /** Whether requests can say up to where a prompt is to be kept (edits/cache-marks.ts). */
  readonly cacheMarks: 'always' | 'in messages' | 'never'
  /** Absent: `llm` has it under its name, without parameters of its own. */
  readonly shortcut?: ProviderShortcut
  /** Absent: the model is all that its fields say. */
  translate?(fields: Fields): TranslatedFields<Cloud>
  /** What is needed of it per request. */
  compile(settings: ProviderSettings<Cloud>): Provider
  /** For `auth` of kind "key", where a key is exchanged for a token. Null: this one is shown as it is. */
  exchange?(cloud: Cloud, provider: Provider, auth: KeyAuth, context: BackendContext): Authenticator | null
  /** For `auth` of kind "provider". What it fetches is kept by auth/kept.ts. */
  authenticator?(credentials: Credentials, target: AuthenticatorTarget, context: BackendContext): Authenticator
}

export interface ProviderSettings<Cloud extends AiCloud | null = AiCloud | null> extends Pick<AiProvider, 'formats'> {
  readonly cloud: Cloud
}

export interface AuthenticatorTarget {
  readonly provider: Provider
  /** Of the destination. */
  readonly host: string
}

/** Each instead of what is usual. */
export interface TranslatedFields<Cloud extends AiCloud | null = AiCloud | null> {
  /** Instead of the field `model`. */
  readonly model?: string | undefined
  /** Where it is if the file gives no host. */
  readonly endpoint?: { readonly host: string; readonly port: number | null }
  readonly formats?: AiProvider['formats'] | undefined
  readonly cloud?: Cloud
  /** If the file says none. Absent: the client's own credential. */
  readonly auth?: AiAuth
}

/** In `llm`, where all providers have the same keys. */
export interface ProviderShortcut {
  /** Instead of its name; none: it is written as an object. */
  readonly names: readonly string[]
  /** Of this provider alone: key of `params` -> what may stand there. */
  readonly params?: { readonly [key: string]: ProviderParam }
  /** What is wrong with parameters that are each right. */
  check?(params: ShortcutParams): { readonly key: string; readonly message: string } | null
  /** Parameters -> fields as `translate` takes them, beside the model. */
  fields?(params: ShortcutParams): object
}

interface ProviderParam {
  schema(make: Makers): z.ZodOptional
  readonly isNeeded?: true
}

/** All that `params` has: own parameters, and those of all providers. */
export type ShortcutParams = Readonly<Record<string, string | number | object | undefined>>
