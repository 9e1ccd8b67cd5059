/** The providers of an `ai` backend (spec 2.4). */
import type { AiProvider } from '#engine/ir/snapshot.ts'
import { atLeastOne, oneOf } from '#engine/schema/choice.ts'
import { path } from '#engine/schema/http.ts'
import { host, port } from '#engine/schema/net.ts'
import { list, refusedKeys, shortString, z } from '#engine/schema/schema.ts'
import { auth } from './auth.ts'

const model = () =>
  z.strictObject({ model: shortString().optional().describe('Instead of the one that the request names.') })

const FORMATS = ['completions', 'messages', 'responses'] as const

/** What one provider says, beside its name. */
export const provider = (others: Record<string, z.ZodType> = {}) =>
  oneOf(
    {
      openai: model().optional(),
      anthropic: model().optional(),
      gemini: model().optional(),
      custom: z
        .strictObject({
          model: shortString().optional(),
          formats: list(z.enum(FORMATS), 1, FORMATS.length).optional().describe('Default completions.')
        })
        .optional()
        .describe('A server that speaks the formats of OpenAI or Anthropic: vLLM, Ollama, SGLang. Needs a host.'),
      ...refusedKeys('provider', ['azureopenai', 'bedrock', 'vertexai'])
    },
    {
      host: host().optional().describe("Default: the provider's own."),
      port: port().optional().describe('Default 443, without TLS 80.'),
      path: path().optional().describe("Of the API; default: the provider's own."),
      policies: atLeastOne({
        auth: auth().optional(),
        tls: z.strictObject({}).optional().describe('TLS to a host that is given here.'),
        ...refusedKeys('provider policy', ['ai', 'http', 'tcp'])
      }).optional(),
      ...others
    }
  ).refine(
    (given) =>
      (given as { custom?: unknown; host?: string }).custom === undefined ||
      (given as { host?: string }).host !== undefined,
    { path: ['host'], error: 'is required for a custom provider' }
  )

export type FileProvider = z.output<ReturnType<typeof provider>> & { readonly name?: string }

interface ProviderFields {
  readonly name?: string | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly path?: string | undefined
  readonly policies?:
    | { readonly auth?: { readonly key?: string | undefined } | undefined; readonly tls?: object | undefined }
    | undefined
  readonly openai?: { readonly model?: string | undefined } | undefined
  readonly anthropic?: { readonly model?: string | undefined } | undefined
  readonly gemini?: { readonly model?: string | undefined } | undefined
  readonly custom?:
    | { readonly model?: string | undefined; readonly formats?: AiProvider['formats'] | undefined }
    | undefined
}

export function providerOf(file: ProviderFields): AiProvider {
  const type = (['openai', 'anthropic', 'gemini', 'custom'] as const).find((kind) => file[kind] !== undefined)!
  return {
    name: file.name ?? type,
    type,
    model: file[type]?.model ?? null,
    host: file.host ?? null,
    port: file.port ?? null,
    path: file.path ?? null,
    formats: file.custom?.formats ?? ['completions'],
    // The providers' own hosts are reached over TLS only; a host that is given says so itself.
    hasTls: file.host === undefined || file.policies?.tls !== undefined,
    key: file.policies?.auth?.key ?? null
  }
}
