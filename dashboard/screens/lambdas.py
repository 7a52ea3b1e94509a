"""Page Lambdas, which has no entry in the menu: the section λ of Attention under its own address."""

from dashboard.widgets.lambda_course import show_page

show_page()
