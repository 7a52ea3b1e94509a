"""A bare Streamlit app of 25 widgets and 30 texts, which the pages are measured against."""

import streamlit as st

for number in range(5):
    st.selectbox(f"Choice {number}", ["a", "b", "c"])
    st.slider(f"Number {number}", 0.0, 1.0, 0.5)
    st.text_input(f"Text {number}")
    st.checkbox(f"On or off {number}")
    st.radio(f"One of {number}", ["a", "b"])
for number in range(30):
    st.write(f"Text {number} of a page that shows nothing else.")
