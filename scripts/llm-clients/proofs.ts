/** What the clients' suite proves, by the rows and columns of docs/llm-endpoints.md. */
import type { Column } from '#scripts/endpoint-sources.ts'

export interface SdkProof {
  readonly title: string
  readonly column: Column
}

/** In loops of tools (doubles/provider.ts). */
const CHATS = ['openai', 'azureopenai', 'anthropic', 'gemini', 'vertexai`: Gemini', 'vertexai`: Claude', 'bedrock']

export const SDK_PROOFS: readonly SdkProof[] = CHATS.map((name) => ({
  title: name.includes('`') ? `\`${name}` : `\`${name}\``,
  column: 'chat' as const
}))
