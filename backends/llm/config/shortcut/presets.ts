import { COMPATIBLE, type CompatibleService, type DialectName } from '#backends/llm/providers/compatible.ts'

export interface CompatibleProvider {
  readonly baseUrl: string
  readonly dialect: DialectName
}

/** Services at an address of their own, by the names that other gateways' files have for them. */
export const PRESETS: ReadonlyMap<string, CompatibleProvider> = new Map(
  Object.entries<CompatibleService>(COMPATIBLE).flatMap(([name, { baseUrl, preset = name }]) =>
    baseUrl === undefined ? [] : [[preset, { baseUrl, dialect: name as DialectName }]]
  )
)

/** Names of providers -> their canonical ones. */
export const KINDS = {
  openai: 'openai',
  openAI: 'openai',
  anthropic: 'anthropic',
  gemini: 'gemini',
  azure: 'azureopenai',
  azureopenai: 'azureopenai',
  vertex: 'vertexai',
  vertexai: 'vertexai',
  bedrock: 'bedrock'
} as const

export type Kind = keyof typeof KINDS

export function isKind(name: string): name is Kind {
  return Object.hasOwn(KINDS, name)
}
