/** What people do on each page: every page has a flow at least. */
import type { Flow } from './flow.ts'
import { overviewFlows } from './overview.ts'

export const FLOWS: readonly Flow[] = [...overviewFlows]
