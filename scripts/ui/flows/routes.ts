import { equal, match } from 'node:assert/strict'
import type { Flow } from './flow.ts'

export const routesFlows: readonly Flow[] = [
  {
    page: 'routes',
    does: 'shows what each route got, how much of it was refused, and which got nothing',
    run: async (page, stage) => {
      await fetch(`${stage.gateway}/nowhere`).then((response) => response.text())
      await page.reload()
      const route = (name: string) => page.locator('.route').filter({ has: page.getByText(name, { exact: true }) })
      await route('cart')
        .getByText(/ in all/)
        .waitFor()
      match((await route('cart').textContent()) ?? '', /50 % refused, \d+ of \d+/)
      match((await route('health').textContent()) ?? '', /\d+ in [\d.]+ (s|min), \d+ in all/)
      match((await route('site').textContent()) ?? '', /nothing since the start/)
      await page.getByText(/\d+ without a route/).waitFor()
    }
  },
  {
    page: 'routes',
    does: 'explains a request on the graph: refused without a header, served with it',
    run: async (page, stage) => {
      await page.getByLabel('URL').fill(`${stage.gateway}/cart/1`)
      await page.getByRole('button', { name: 'Explain' }).click()
      await page.getByText('403 FORBIDDEN by authorization').waitFor()
      const route = page.locator('.route.hit')
      match((await route.textContent()) ?? '', /cart.*takes it/)
      await route.getByRole('button', { name: 'authorization ends it' }).click()
      match((await route.locator('pre').textContent()) ?? '', /x-team/)
      await page.getByText('not: its path is "/catalogue" and below').waitFor()
      await page.getByText('not: its hostname is "admin.example"').waitFor()
      match(page.url(), /\?url=http/)

      await page.getByText('Headers and body').click()
      await page.getByLabel('Headers').fill('x-team: red')
      await page.getByRole('button', { name: 'Explain' }).click()
      await page.getByText('reaches its backend').waitFor()
      await page.locator('.backend.hit').getByText('gets it').waitFor()
      equal(page.url().includes('x-team'), false)
    }
  },
  {
    page: 'routes',
    does: 'opens an address with a question, and says what is wrong with one',
    run: async (page, stage) => {
      const url = encodeURIComponent(`${stage.gateway}/nothing`)
      await page.goto(`${stage.admin}/ui/routes?url=${url}&q=health`)
      await page.getByText('404 ROUTE_NOT_FOUND').waitFor()
      equal(await page.locator('.listener').count(), 1)
      await page.getByLabel('URL').fill('not a url')
      await page.getByRole('button', { name: 'Explain' }).click()
      await page.getByRole('alert').or(page.locator('.wrong')).first().waitFor()
    }
  }
]
