/**
 * Amazon Bedrock by Converse and ConverseStream (API reference of Amazon Bedrock Runtime). The model is in the path,
 * percent-encoded: ids may be ARNs, with ":" and "/".
 */
import { type Provider, segment } from './provider.ts'

interface Place {
  readonly region: string
  readonly guardrail: { readonly identifier: string; readonly version: string } | null
}

export function bedrock({ region, guardrail }: Place): Provider {
  return {
    name: 'aws.bedrock',
    host: `bedrock-runtime.${region}.amazonaws.com`,
    formats: () => ['converse'],
    target: (_, model, isStreamed) => `/model/${segment(model)}/${isStreamed ? 'converse-stream' : 'converse'}`,
    // Without a signature: an API key of Bedrock.
    keyField: () => 'authorization',
    fields: [],
    ...(guardrail === null
      ? {}
      : {
          adapt: (_, body) => ({
            ...body,
            guardrailConfig: { guardrailIdentifier: guardrail.identifier, guardrailVersion: guardrail.version }
          })
        })
  }
}
