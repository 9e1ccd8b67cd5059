/**
 * Guards of clouds: what they are asked, and what they say. Sources: ApplyGuardrail of the Amazon Bedrock Runtime API;
 * text:analyze and text:shieldPrompt of Azure AI Content Safety; sanitizeUserPrompt and sanitizeModelResponse of
 * Google's Model Armor.
 */

import type { AiCloudGuard, AiRejection, CloudGuardSpec } from '#backends/llm/config/snapshot.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import type { Message } from '#engine/kit/scan/body.ts'
import { isObject } from '#engine/kit/scan/texts.ts'
import { type GuardCall, GuardUnavailable, type Side, type Target, type Verdict } from './service-call.ts'

/** Azure takes so many code points in one question; Model Armor's filters read at least so many. */
const PIECE_CHARS = 10_000
/** Of a piece that are in the next one, too: what is forbidden could be parted between two of them. */
const OVERLAP_CHARS = 200
/** Of one body: what is longer is refused, since a guard that reads a part of it has judged nothing. */
const QUESTIONS_MAX = 64
const AZURE_VERSION = '?api-version=2024-09-01'

/** `part`: what of the cloud is asked. */
export interface CloudQuestion {
  readonly part: string
  readonly body: object
}

export function cloudTarget(guard: AiCloudGuard, side: Side, part: string, { services }: GuardCall): Target {
  const { asks, timeoutMs } = guard
  const common = { service: services.get(guard)!, headers: {}, timeoutMs }
  if (asks.cloud === 'guardrail') return { ...common, path: asks.path }
  if (asks.cloud === 'contentSafety') return { ...common, path: `/contentsafety/text:${part}`, query: AZURE_VERSION }
  return { ...common, path: `${asks.path}:${side === 'request' ? 'sanitizeUserPrompt' : 'sanitizeModelResponse'}` }
}

/** What it is asked, at least one question. Throws FormatError for more text than is asked about. */
export function cloudQuestions(asks: CloudGuardSpec, side: Side, messages: readonly Message[]): CloudQuestion[] {
  if (asks.cloud === 'guardrail') {
    const content = messages.map(({ content: text }) => ({ text: { text } }))
    return [{ part: '', body: { source: side === 'request' ? 'INPUT' : 'OUTPUT', content } }]
  }
  const pieces = piecesOf(messages.map(({ content }) => content).join('\n'))
  const questions = pieces.flatMap((text): CloudQuestion[] => {
    if (asks.cloud === 'contentSafety') {
      const analyze = asks.analyze === null ? [] : [{ part: 'analyze', body: { text, ...asks.analyze.fields } }]
      const shield = asks.shields ? [{ part: 'shieldPrompt', body: { userPrompt: text, documents: [] } }] : []
      return [...analyze, ...shield]
    }
    return [{ part: '', body: side === 'request' ? { userPromptData: { text } } : { modelResponseData: { text } } }]
  })
  if (questions.length > QUESTIONS_MAX) throw new FormatError('', 'the texts are too long for a prompt guard')
  return questions
}

/** No pair of surrogates is parted. */
function piecesOf(text: string): string[] {
  if (text.length <= PIECE_CHARS) return [text]
  const pieces: string[] = []
  for (let at = 0; ; ) {
    const end = wholeAt(text, at + PIECE_CHARS)
    pieces.push(text.slice(at, end))
    if (end === text.length || pieces.length > QUESTIONS_MAX) return pieces
    at = wholeAt(text, end - OVERLAP_CHARS)
  }
}

/** The place, or the one before it, within a pair. */
function wholeAt(text: string, place: number): number {
  if (place >= text.length) return text.length
  return /^[\uDC00-\uDFFF]$/.test(text.charAt(place)) ? place - 1 : place
}

/** Throws GuardUnavailable when `answer` is no judgement. */
export function cloudVerdict(
  asks: CloudGuardSpec,
  part: string,
  answer: unknown,
  count: number,
  reply: AiRejection
): Verdict {
  if (!isObject(answer)) throw new GuardUnavailable('the guard answers with no judgement')
  if (asks.cloud === 'guardrail') return bedrockVerdict(answer, count, reply)
  const isFlagged =
    asks.cloud === 'modelArmor'
      ? isMatch(answer)
      : part === 'shieldPrompt'
        ? isAttack(answer)
        : isHarm(answer, asks.analyze?.severity ?? 0)
  return isFlagged ? { kind: 'reject', reply } : { kind: 'pass' }
}

type Fields = Readonly<Record<string, unknown>>

const PASS: Verdict = { kind: 'pass' }

function bedrockVerdict({ action, outputs, assessments }: Fields, count: number, reply: AiRejection): Verdict {
  if (action === 'NONE') return PASS
  if (action !== 'GUARDRAIL_INTERVENED') throw new GuardUnavailable('the guard answers with an unknown action')
  const done = actionsIn(assessments)
  const texts = Array.isArray(outputs) ? outputs.map((one: unknown) => (isObject(one) ? one.text : null)) : []
  const isMasked = done.has('ANONYMIZED') && !done.has('BLOCKED') && texts.length === count
  return isMasked && texts.every((text) => typeof text === 'string')
    ? { kind: 'replace', texts }
    : { kind: 'reject', reply }
}

/** Deeper than this nothing of an assessment says what was done: policy, kind, list, entry. */
const ASSESSMENT_DEPTH = 6

function actionsIn(value: unknown, found = new Set<unknown>(), depth = 0): ReadonlySet<unknown> {
  if (depth > ASSESSMENT_DEPTH) return found
  if (Array.isArray(value)) for (const one of value) actionsIn(one, found, depth + 1)
  else if (isObject(value)) {
    found.add(value.action)
    for (const one of Object.values(value)) actionsIn(one, found, depth + 1)
  }
  return found
}

function isHarm({ blocklistsMatch, categoriesAnalysis }: Fields, severity: number): boolean {
  if (!Array.isArray(categoriesAnalysis)) throw new GuardUnavailable('the guard answers with no judgement')
  const isListed = Array.isArray(blocklistsMatch) && blocklistsMatch.length > 0
  // A category at least has been looked for, unless a list had the text first.
  if (!isListed && categoriesAnalysis.length === 0) throw new GuardUnavailable('the guard answers with no judgement')
  return isListed || categoriesAnalysis.some((one: unknown) => !isObject(one) || !isBelow(one.severity, severity))
}

/** What is no number, such as null, has judged nothing. */
const isBelow = (value: unknown, severity: number): boolean => typeof value === 'number' && value < severity

function isAttack({ userPromptAnalysis }: Fields): boolean {
  const detected = isObject(userPromptAnalysis) ? userPromptAnalysis.attackDetected : null
  if (typeof detected !== 'boolean') throw new GuardUnavailable('the guard answers with no judgement')
  return detected
}

/** A filter that was not run has judged nothing. */
function isMatch({ sanitizationResult }: Fields): boolean {
  const result: Fields = isObject(sanitizationResult) ? sanitizationResult : {}
  const { filterMatchState: state, invocationResult, filterResults } = result
  const entries = isObject(filterResults) || Array.isArray(filterResults) ? Object.values(filterResults) : []
  if (state === 'MATCH_FOUND' || entries.some((entry) => hasMatch(entry, 0))) return true
  if (state !== 'NO_MATCH_FOUND' || invocationResult !== 'SUCCESS')
    throw new GuardUnavailable('the guard has not judged all texts')
  return false
}

/** Of a filter: its own state, or those of both parts of sensitive data protection. */
const FILTER_DEPTH = 2

function hasMatch(value: unknown, depth: number): boolean {
  if (!isObject(value)) return false
  if (value.matchState === 'MATCH_FOUND') return true
  return depth < FILTER_DEPTH && Object.values(value).some((one) => hasMatch(one, depth + 1))
}
