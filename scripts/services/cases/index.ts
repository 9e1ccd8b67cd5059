/** All cases. */
import type { Case } from '../case.ts'
import { GRPC_CHECK_ANSWERS } from './grpc-check-answers.ts'
import { GRPC_CHECK_REQUESTS } from './grpc-check-requests.ts'
import { HTTP_CHECK } from './http-check.ts'
import { LIMITS } from './limits.ts'
import { PROCESSING_BODIES } from './processing-bodies.ts'
import { PROCESSING_FAILURES } from './processing-failures.ts'
import { PROCESSING_HEADS } from './processing-heads.ts'

export const CASES: readonly Case[] = [
  ...GRPC_CHECK_REQUESTS,
  ...GRPC_CHECK_ANSWERS,
  ...HTTP_CHECK,
  ...LIMITS,
  ...PROCESSING_HEADS,
  ...PROCESSING_BODIES,
  ...PROCESSING_FAILURES
]
