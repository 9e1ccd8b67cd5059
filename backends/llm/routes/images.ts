/** Pictures (OpenAI, API reference: "Create image", "Create image edit", "Create image variation"). */

import { HINT, RECORD } from '#backends/llm/formats/tolerated.ts'
import { imagesCost } from './media-usage.ts'
import { type CallFields, openaiCall } from './openai-call.ts'
import type { BodyOperationKind, ExpectedCost } from './operation.ts'

declare module './answer-spec.ts' {
  interface OperationRoutes {
    ImageGenerations: 'body'
    ImageEdits: 'body'
    ImageVariations: 'body'
  }
}

/** Of one picture of high quality, 1024 x 1536 ("Image generation", cost and latency). */
const TOKENS_PER_PICTURE = 6240
/** A picture of high fidelity that is given, and what is said about it. */
const INPUT_TOKENS_PER_FORM = 8192

function expected({ text, number, bytesLength }: CallFields, inputTokens: number): ExpectedCost {
  const image = Math.max(1, Math.ceil(number('n') ?? 1))
  // What a request without them gets of models that cost by the picture.
  const imageSize = text('size') ?? '1024x1024'
  const imageQuality = text('quality') ?? 'standard'
  const units = { counts: { image }, imageSize, imageQuality }
  return { inputTokens: Math.min(inputTokens, bytesLength), outputTokens: image * TOKENS_PER_PICTURE, units }
}

const PICTURES = { outputType: 'image', cost: imagesCost, reads: ['n', 'size', 'quality'] } as const

export const imageGenerations: BodyOperationKind = openaiCall({
  ...PICTURES,
  type: 'ImageGenerations',
  end: '/images/generations',
  takes: 'json',
  name: 'image_generation',
  capability: 'imageGenerations',
  gemini: 'drawContent',
  tolerated: { size: HINT, quality: HINT, style: HINT, moderation: HINT, user: RECORD },
  guarded: ['prompt'],
  expects: (fields) => expected(fields, fields.bytesLength)
})

export const imageEdits: BodyOperationKind = openaiCall({
  ...PICTURES,
  type: 'ImageEdits',
  end: '/images/edits',
  takes: 'form',
  name: 'image_edit',
  capability: 'imageEdits',
  guarded: null,
  expects: (fields) => expected(fields, INPUT_TOKENS_PER_FORM)
})

export const imageVariations: BodyOperationKind = openaiCall({
  ...PICTURES,
  type: 'ImageVariations',
  end: '/images/variations',
  takes: 'form',
  name: 'image_variation',
  capability: 'imageVariations',
  guarded: null,
  expects: (fields) => expected(fields, 0)
})
