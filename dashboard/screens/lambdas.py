"""Page Lambdas, which has no entry in the menu: the section λ of Attention under its own address."""

from __future__ import annotations

from dashboard.screens.attention_lambdas import show_page

show_page()
