/**
 * What providers ask, as public collections of prices had it on the day that each list says; `source` is the page
 * of the provider. docs/prices.md says how far they were compared, and where they differ. Read when prices come
 * into force.
 */
import type { PriceRow } from '#engine/contract/price-list.ts'
import { amazonList } from './catalogue/amazon.ts'
import { anthropicList } from './catalogue/anthropic.ts'
import { azureList } from './catalogue/azure.ts'
import { chatLists } from './catalogue/chat-services.ts'
import { comparedModels } from './catalogue/compared.ts'
import { geminiList, vertexList } from './catalogue/google.ts'
import { openModelLists } from './catalogue/open-models.ts'
import { openaiList } from './catalogue/openai.ts'
import { searchLists } from './catalogue/search-services.ts'
import { rowsOf } from './list.ts'

export function priceCatalogue(): readonly PriceRow[] {
  const single = [openaiList(), azureList(), anthropicList(), geminiList(), vertexList(), amazonList()]
  const rows = [...single, ...chatLists(), ...openModelLists(), ...searchLists()].flatMap(rowsOf)
  const compared = comparedModels()
  return rows.map((row) => ({ ...row, isCompared: compared.get(row.provider!)?.has(row.model) === true }))
}
