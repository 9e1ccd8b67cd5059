/** All cases. */
import type { Case } from './case.ts'
import { FURTHER } from './further-cases.ts'
import { GRPC_CHECK_ANSWERS } from './grpc-check-answers-cases.ts'
import { GRPC_CHECK_REQUESTS } from './grpc-check-requests-cases.ts'
import { HTTP_CHECK } from './http-check-cases.ts'
import { LIMITS } from './limits-cases.ts'
import { PROCESSING_BODIES } from './processing-bodies-cases.ts'
import { PROCESSING_FAILURES } from './processing-failures-cases.ts'
import { PROCESSING_HEADS } from './processing-heads-cases.ts'
import { PROCESSING_PIECES } from './processing-pieces-cases.ts'
import { PROCESSING_STREAMED_REPLIES } from './processing-streamed-replies-cases.ts'
import { PROCESSING_STREAMS } from './processing-streams-cases.ts'
import { TLS } from './tls-cases.ts'

export const CASES: readonly Case[] = [
  ...GRPC_CHECK_REQUESTS,
  ...GRPC_CHECK_ANSWERS,
  ...HTTP_CHECK,
  ...LIMITS,
  ...PROCESSING_HEADS,
  ...PROCESSING_BODIES,
  ...PROCESSING_FAILURES,
  ...PROCESSING_STREAMS,
  ...PROCESSING_PIECES,
  ...PROCESSING_STREAMED_REPLIES,
  ...FURTHER,
  ...TLS
]
