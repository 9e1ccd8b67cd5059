/** generateContent of the mock provider (Gemini API reference). */
import { type Body, PIECES, TOOL_ARGUMENTS, type Wire } from './wire.ts'

const GEMINI_USAGE = {
  promptTokenCount: 12,
  cachedContentTokenCount: 4,
  candidatesTokenCount: 5,
  thoughtsTokenCount: 2,
  totalTokenCount: 19
}

export function gemini(body: Body, parts: readonly object[] = geminiParts(body), isLast = true): object {
  const candidate = { content: { role: 'model', parts }, index: 0, ...(isLast ? { finishReason: 'STOP' } : {}) }
  return {
    candidates: [candidate],
    ...(isLast ? { usageMetadata: GEMINI_USAGE } : {}),
    modelVersion: 'gemini-2',
    responseId: 'resp-1'
  }
}

function geminiParts(body: Body): object[] {
  const name = body.tools?.[0]?.functionDeclarations?.[0]?.name
  return name === undefined
    ? [{ text: PIECES.join('') }]
    : [{ functionCall: { name, args: JSON.parse(TOOL_ARGUMENTS) } }]
}

export function geminiEvents(body: Body): Wire {
  const hasTool = body.tools?.[0]?.functionDeclarations?.[0] !== undefined
  if (hasTool) return [[null, gemini(body)]]
  return PIECES.map((text, i) => [null, gemini(body, [{ text }], i === PIECES.length - 1)] as const)
}

const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE'
}

/** google.rpc.Status as the Gemini API writes it. */
export function geminiError(status: number, message: string): object {
  return { error: { code: status, message, status: STATUSES[status] ?? 'INTERNAL' } }
}
